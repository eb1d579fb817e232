package credential

import "time"

// SetClock replaces the clock.
func (m *Manager) SetClock(now func() time.Time) { m.now = now }
