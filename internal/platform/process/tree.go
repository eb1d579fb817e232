package process

import "slices"

// Descendants lists the processes below pid, deepest first. It is empty if there
// are none or pid is not there.
func Descendants(pid int) []int {
	children := childLister()
	var all []int
	level := []int{pid}
	seen := map[int]bool{pid: true} // a tree that changes while it is read may seem to have cycles
	for len(level) > 0 {
		var next []int
		for _, p := range level {
			for _, child := range children(p) {
				if !seen[child] {
					seen[child] = true
					next = append(next, child)
				}
			}
		}
		all = append(all, next...)
		level = next
	}
	slices.Reverse(all)
	return all
}

// family gives the direct children of every process.
type family map[int][]int

func (f family) add(pid, parent int) {
	if pid != parent { // the first process of some systems is its own parent
		f[parent] = append(f[parent], pid)
	}
}

func (f family) children(pid int) []int { return f[pid] }
