echo rubbish >x.pitot
pitot report ./x.pitot
