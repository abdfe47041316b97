package ddbstream

// IndexWrites appends the writes that the change caused in these indexes, in their order, to a list. It appends nothing
// for a deletion by TTL, which costs nothing, or if the stream's view type leaves out an image of the change. The error
// names the image that can't be read.
func (r *Record) IndexWrites(to *IndexWrites, indexes []Index) error {
	shown := (r.Name == Insert || r.Old.Present()) && (r.Name == Remove || r.New.Present())
	if r.Expired || !shown {
		return nil
	}
	for i := range indexes {
		if err := AddIndexWrites(to, &indexes[i], r.Old, r.New); err != nil {
			return recordError(r.Sequence, err)
		}
	}
	return nil
}

// SameIn reports whether all these attributes are the same in both images. For nil, all attributes, it returns false,
// since a write that changes nothing causes no record.
func (i Image) SameIn(other Image, attributes []string) bool {
	for _, attribute := range attributes {
		if !i.Same(other, attribute) {
			return false
		}
	}
	return attributes != nil
}
