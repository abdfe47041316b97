package ddbstream

// entries holds a sketch's entries, by key and as a heap by count.
type entries struct {
	bytes int
	index map[string]int // slot of each key
	slots []slot
	free  []int  // slots without an entry
	heap  []node // smallest count first
}

// node is an element of the heap. It refers to its entry by the slot, so that a move is 16 bytes and leaves the index
// of keys alone. The heap is not container/heap, which calls through an interface for each comparison.
type node struct {
	count uint64 // the entry's count
	slot  int
}

// slot holds an entry; a key keeps its slot until it is evicted.
type slot struct {
	SketchEntry
	at int // position in the heap
}

func (h *entries) push(e SketchEntry) {
	id := h.freeSlot()
	h.slots[id].SketchEntry = e
	h.index[e.Key] = id
	h.bytes += entryBytes(e.Key)
	h.heap = append(h.heap, node{e.Count, id})
	h.siftUp(len(h.heap) - 1)
}

// freeSlot returns the number of a free slot, perhaps a new one.
func (h *entries) freeSlot() int {
	if last := len(h.free) - 1; last >= 0 {
		id := h.free[last]
		h.free = h.free[:last]
		return id
	}
	h.slots = append(h.slots, slot{})
	return len(h.slots) - 1
}

// pop removes the entry with the smallest count.
func (h *entries) pop() {
	id, last := h.heap[0].slot, len(h.heap)-1
	key := h.slots[id].Key
	h.bytes -= entryBytes(key)
	delete(h.index, key)
	h.slots[id] = slot{}
	h.free = append(h.free, id)
	moved := h.heap[last]
	h.heap = h.heap[:last]
	if last > 0 {
		h.heap[0] = moved
		h.siftDown(0)
	}
}

// placeNode puts a node at a position of the heap.
func (h *entries) placeNode(at int, n node) {
	h.heap[at] = n
	h.slots[n.slot].at = at
}

// siftUp restores the heap's order after a node was appended at a position.
func (h *entries) siftUp(at int) {
	n := h.heap[at]
	for at > 0 {
		parent := (at - 1) / 2
		if h.heap[parent].count <= n.count {
			break
		}
		h.placeNode(at, h.heap[parent])
		at = parent
	}
	h.placeNode(at, n)
}

// siftDown restores the heap's order after the count at a position grew.
func (h *entries) siftDown(at int) {
	n := h.heap[at]
	for {
		child := 2*at + 1
		if child >= len(h.heap) {
			break
		}
		if right := child + 1; right < len(h.heap) && h.heap[right].count < h.heap[child].count {
			child = right
		}
		if n.count <= h.heap[child].count {
			break
		}
		h.placeNode(at, h.heap[child])
		at = child
	}
	h.placeNode(at, n)
}
