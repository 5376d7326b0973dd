pitot rnu
