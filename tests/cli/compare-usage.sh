# What makes no sense is refused before anything runs, with the reason.
try() {
	pitot compare "$@" 2>&1 >/dev/null | head -n 1
}
try
try 'touch ran'
try -r 0 'touch ran' 'touch ran'
try -w -1 'touch ran' 'touch ran'
try --threshold 0 'touch ran' 'touch ran'
try --precision -2 'touch ran' 'touch ran'
try --metric speed 'touch ran' 'touch ran'
try --metric energy_j 'touch ran' 'touch ran'
try --metric memory_peak_bytes 'touch ran' 'touch ran'
try --reference 3 'touch ran' 'touch ran'
try --build make 'touch ran' 'touch ran'
try --rev a 'touch ran'
try --rev a --rev b 'touch ran' 'touch ran'
try -N --shell bash 'touch ran' 'touch ran'
try -p a -p b -p c 'touch ran' 'touch ran'
try -n a -n b -n c 'touch ran' 'touch ran'
try -P n 5 1 'touch ran{n}'
try -P n 1 5 0 'touch ran{n}'
try -P 'n=1:x' 'touch ran{n}'
try -P n 1 1 'touch ran{n}'
try -P n 1 1e9 'touch ran{n}'
try -L 'n m' a,b 'touch ran{n}'
try -L n a,b 'touch ran'
try -L n a,b -P n 1 2 'touch ran{n}'
try -N "touch 'ran" 'touch ran'
try --stdin nowhere 'touch ran' 'touch ran'
try 'touch ran' -- touch ran
try --
ls
