pitot report --format xml
