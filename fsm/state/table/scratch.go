package table

// Scratch holds a value per slot. It allocates pages on demand, because slots may lie far apart.
type Scratch[S Slot, T any] struct{ pages []*[PageSize]T }

// At returns the value of a slot, which is zero at first.
func (x *Scratch[S, T]) At(slot S) *T {
	p := int(slot / PageSize)
	for len(x.pages) <= p {
		x.pages = append(x.pages, nil)
	}
	if x.pages[p] == nil {
		x.pages[p] = new([PageSize]T)
	}
	return &x.pages[p][slot%PageSize]
}
