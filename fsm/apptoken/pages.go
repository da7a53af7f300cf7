package apptoken

import (
	"cmp"
	"iter"
	"slices"
)

// record is what pages hold, in the order of its key.
type record[K cmp.Ordered] interface{ key() K }

// pageSize is the most records of a page.
const pageSize = 256

// pages is a sorted list of records in pages that never change. A change copies one page and the
// list of pages, so a copy of the struct is independent, and it costs nothing.
type pages[K cmp.Ordered, R record[K]] struct {
	pages [][]R // none is empty
	n     int
}

// all returns the records in order.
func (p *pages[K, R]) all() iter.Seq[R] {
	list := p.pages
	return func(yield func(R) bool) {
		for _, page := range list {
			for _, r := range page {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// find returns the page in which a key is or belongs, its place there, and whether it is there.
func (p *pages[K, R]) find(k K) (page, at int, has bool) {
	page, has = slices.BinarySearchFunc(p.pages, k, func(list []R, k K) int { return cmp.Compare(list[0].key(), k) })
	if has || len(p.pages) == 0 {
		return page, 0, has
	}
	page = max(page-1, 0)
	at, has = slices.BinarySearchFunc(p.pages[page], k, func(r R, k K) int { return cmp.Compare(r.key(), k) })
	return page, at, has
}

// get returns the record with a key, and whether there is one.
func (p *pages[K, R]) get(k K) (r R, ok bool) {
	page, at, has := p.find(k)
	if !has {
		return r, false
	}
	return p.pages[page][at], true
}

// at returns the record at a place from 0.
func (p *pages[K, R]) at(i int) R {
	for _, page := range p.pages {
		if i < len(page) {
			return page[i]
		}
		i -= len(page)
	}
	panic("no such record")
}

// put adds a record, or replaces the one with the same key.
func (p *pages[K, R]) put(r R) {
	page, at, has := p.find(r.key())
	switch {
	case has:
		list := slices.Clone(p.pages[page])
		list[at] = r
		p.set(page, list)
		return
	case len(p.pages) == 0 || page == len(p.pages)-1 && at == pageSize: // new records come last
		p.pages = append(slices.Clip(p.pages), []R{r})
	case len(p.pages[page]) == pageSize:
		list := slices.Insert(slices.Clone(p.pages[page]), at, r)
		p.set(page, list[:pageSize/2:pageSize/2], list[pageSize/2:])
	default:
		p.set(page, slices.Insert(slices.Clone(p.pages[page]), at, r))
	}
	p.n++
}

// remove removes the record with a key, if there is one.
func (p *pages[K, R]) remove(k K) {
	page, at, has := p.find(k)
	if !has {
		return
	}
	p.n--
	if list := slices.Delete(slices.Clone(p.pages[page]), at, at+1); len(list) > 0 {
		p.set(page, list)
		return
	}
	p.set(page)
}

// set replaces a page by others.
func (p *pages[K, R]) set(page int, by ...[]R) {
	p.pages = slices.Replace(slices.Clone(p.pages), page, page+1, by...)
	if len(p.pages) == 0 {
		p.pages = nil
	}
}
