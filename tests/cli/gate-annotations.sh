# Annotations point at the threshold's line in the pipeline file.
cat >pipeline.yaml <<'END'
stages:
  - {name: eval, run: 'echo pitot-metric f1=$(cat f1)'}
gate:
  max_quality:f1_drop: 0.01
END
echo 0.9 >f1; pitot run --quiet --no-report -o a.pitot
echo 0.7 >f1; pitot run --quiet --no-report -o b.pitot
pitot gate a.pitot b.pitot --format github | grep ::error
pitot gate a.pitot b.pitot --format gitlab | python3 -c '
import json, sys
for entry in json.load(sys.stdin):
    print(entry["check_name"], entry["severity"], entry["location"], len(entry["fingerprint"]))'
pitot gate a.pitot b.pitot --format junit -o gate.xml
echo $?
python3 -c '
import xml.etree.ElementTree as tree
suites = tree.parse("gate.xml").getroot()
print(suites.attrib["tests"], suites.attrib["failures"], [(case.attrib["name"], case[0].tag) for case in suites.iter("testcase")])'
