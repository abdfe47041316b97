package topk

// The heap is one of our own: container/heap calls through an interface for each
// comparison. It holds counts and slots, so that a move is 16 bytes and does not
// touch the index of keys.

type node struct {
	count uint64 // the entry's
	slot  int
}

// slot holds an entry in one place for as long as the key has it.
type slot struct {
	Entry
	at int // position in the heap
}

func (s *Sketch) push(e Entry) {
	id := s.slot()
	s.slots[id].Entry = e
	s.index[e.Key] = id
	s.bytes += cost(e.Key)
	s.heap = append(s.heap, node{e.Count, id})
	s.up(len(s.heap) - 1)
}

// slot returns a free slot.
func (s *Sketch) slot() int {
	if last := len(s.free) - 1; last >= 0 {
		id := s.free[last]
		s.free = s.free[:last]
		return id
	}
	s.slots = append(s.slots, slot{})
	return len(s.slots) - 1
}

// pop takes out the entry with the smallest count.
func (s *Sketch) pop() {
	id, last := s.heap[0].slot, len(s.heap)-1
	key := s.slots[id].Key
	s.bytes -= cost(key)
	delete(s.index, key)
	s.slots[id] = slot{}
	s.free = append(s.free, id)
	moved := s.heap[last]
	s.heap = s.heap[:last]
	if last > 0 {
		s.heap[0] = moved
		s.down(0)
	}
}

func (s *Sketch) put(at int, n node) {
	s.heap[at] = n
	s.slots[n.slot].at = at
}

func (s *Sketch) up(at int) {
	n := s.heap[at]
	for at > 0 {
		parent := (at - 1) / 2
		if s.heap[parent].count <= n.count {
			break
		}
		s.put(at, s.heap[parent])
		at = parent
	}
	s.put(at, n)
}

// down restores the order after the count at this position grew.
func (s *Sketch) down(at int) {
	n := s.heap[at]
	for {
		child := 2*at + 1
		if child >= len(s.heap) {
			break
		}
		if right := child + 1; right < len(s.heap) && s.heap[right].count < s.heap[child].count {
			child = right
		}
		if n.count <= s.heap[child].count {
			break
		}
		s.put(at, s.heap[child])
		at = child
	}
	s.put(at, n)
}
