# Makes fixedcount.tsv: the keys under which the articles' Python stores sensors' readings over 16 write shards, and those
# of the same readings over 32.
#   python3 fixedcount.py > fixedcount.tsv
import hashlib
from datetime import datetime, timedelta

begin = datetime(2126, 1, 15, 12, 56, 30, 125)
for i in range(12):
    sensor = f"sensor-{i}"
    for j in range(3):
        at = begin + timedelta(seconds=61 * j + i, microseconds=i)
        n = int(hashlib.sha256(sensor.encode()).hexdigest(), 16)
        hour = at.strftime("%Y-%m-%d-%H")
        stamp = at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        print(sensor, stamp, f"{n % 16}#{hour}", f"{n % 32}#{hour}", f"{sensor}#{stamp}", sep="\t")
