package tui

func (a *app) openSetup(string) {}
