package tui

import "os"

// watchSize has nothing to watch: the console tells its size in its input.
func (a *app) watchSize() { a.sizes = make(chan os.Signal) }

// suspend is nothing that Windows knows.
func (a *app) suspend() { a.flash("there is no suspending here") }
