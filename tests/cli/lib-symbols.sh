# A program that links the library sees pitot_* and no other name of ours.
for library in libpitot.so libpitot.a; do
	case $library in *.so) kind=-D ;; *) kind=-g ;; esac
	nm $kind --defined-only "$BUILD/$library" | awk 'NF == 3 { print $3 }' | sort
done
