package search

// layeredTree takes folders from a directory, except those in which something differs.
type layeredTree struct {
	plain *plainTree
	fast  tree
	layer Layered
}

type layeredFolder struct {
	plainFolder
	tree *layeredTree
}

func (t *layeredTree) open(name string) (folder, error) {
	if !t.layer.Differs(name) {
		return t.fast.open(name)
	}
	f, err := t.plain.open(name)
	if err != nil {
		return nil, err
	}
	return &layeredFolder{*f.(*plainFolder), t}, nil
}

func (t *layeredTree) close() { t.fast.close() }

func (f *layeredFolder) child(name string) (folder, error) {
	return f.tree.open(f.join(name))
}
