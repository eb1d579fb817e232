package vt

// keyboard is how keys are asked to be reported, for each of both screens: the flags of
// the kitty protocol, with what was pushed, and the level of xterm's modifyOtherKeys.
type keyboard struct {
	now        [2]int
	pushed     [2][]int
	modifyKeys int
}

// side is the index of a screen.
func side(alt bool) int {
	if alt {
		return 1
	}
	return 0
}

func (k *keyboard) flags(alt bool) int { return k.now[side(alt)] }

// push keeps the flags that are in force and puts others in their place.
func (k *keyboard) push(alt bool, flags int) {
	i := side(alt)
	if len(k.pushed[i]) == 16 { // as the protocol allows, the oldest is forgotten
		k.pushed[i] = k.pushed[i][1:]
	}
	k.pushed[i], k.now[i] = append(k.pushed[i], k.now[i]), flags
}

// pop goes back by n pushes.
func (k *keyboard) pop(alt bool, n int) {
	i := side(alt)
	for ; n > 0; n-- {
		l := len(k.pushed[i])
		if l == 0 {
			k.now[i] = 0
			return
		}
		k.now[i], k.pushed[i] = k.pushed[i][l-1], k.pushed[i][:l-1]
	}
}

// set changes the flags: 2 adds to them, 3 takes from them, anything else replaces them.
func (k *keyboard) set(alt bool, v, how int) {
	i := side(alt)
	switch how {
	case 2:
		k.now[i] |= v
	case 3:
		k.now[i] &^= v
	default:
		k.now[i] = v
	}
}
