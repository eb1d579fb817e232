package undo

// Intent is a group of declared changes under way. While it is held, no other
// process commits, undoes or settles in this journal.
//
// What is written to the journal is in the hands of the system before the first
// file changes, and so survives the end of the process, however it ends. It is not
// forced to the disk: after a power failure the last turn may be unknown.
type Intent struct {
	lines  *lines
	folder *folder
	watch  *watch
	base   *baseline

	release func()
	turn    line
	id      string // empty: nothing was announced
	before  []Change
}

// Intend takes the journal for changes that are declared, in the open turn.
// Settle must be called.
func (j *Journal) Intend() (*Intent, error) {
	release, err := j.lines.take()
	if err != nil {
		return nil, err
	}
	return &Intent{lines: j.lines, folder: j.folder, watch: j.watch, base: j.base, release: release, turn: j.turns.current()}, nil
}

// Announce records what is about to be done, with what the paths hold now as
// Before and what they shall hold as After. Before that nothing may be changed.
func (i *Intent) Announce(planned []Change) error {
	if len(planned) == 0 {
		return nil
	}
	if err := i.watch.attribute(planned); err != nil {
		return err
	}
	id := newKey()
	l := i.turn
	l.Intent, l.Changes = id, planned
	if err := i.lines.write(l); err != nil {
		return err
	}
	i.id, i.before = id, planned
	return nil
}

// Settle records what became of the announced paths, also after a failure, and
// lets the journal go.
func (i *Intent) Settle() error {
	defer i.release()
	if i.id == "" {
		return nil
	}
	var changes []Change
	for _, c := range i.before {
		now, err := i.folder.stateLike(c.Path, c.Before)
		if err != nil {
			return err
		}
		if !now.same(c.Before) {
			done := Change{Path: c.Path, Before: c.Before, After: now}
			if now.same(c.After) {
				done.Splices = c.Splices
			}
			changes = append(changes, done)
		}
		if c.Before.Sum != "" { // which looks don't know, and which may be small enough for them now
			if now, err = i.folder.stateOf(c.Path); err != nil {
				return err
			}
		}
		i.base.tell(c.Path, now)
	}
	return i.lines.settle(i.turn, i.id, changes)
}
