package tui

import "os"

// watchSize has nothing to watch: the console tells its size in its input.
func (d *display) watchSize() { d.sizes = make(chan os.Signal) }

// suspend is nothing that Windows knows.
func (d *display) suspend() { d.flash("suspending is not supported here") }
