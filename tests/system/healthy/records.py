# Writes many small records through a buffer, and reads them back through one.
with open("records", "w", encoding="utf-8") as file:
    for i in range(400000):
        file.write(f"{i},{i * 7}\n")
with open("records", encoding="utf-8") as file:
    print(sum(int(line.split(",")[1]) for line in file))
