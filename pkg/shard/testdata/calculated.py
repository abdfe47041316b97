# Makes calculated.tsv: for each attribute the write shards among 1 to 1,000.
#   python3 calculated.py > calculated.tsv
import hashlib, json

ATTRIBUTES = [
    "", "a", "order-1234", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "a#b#7", "a/b c", "0", "é", "e\u0301",
    "日本語", "😀", "\u0000", "\u007f\u0080\uffff", "x" * 512, "\U0010ffff",
]
for s in ATTRIBUTES:
    n = int(hashlib.sha256(s.encode()).hexdigest(), 16)
    print(json.dumps(s), ",".join(str(n % k) for k in range(1, 1001)), sep="\t")
