package viewer

import "github.com/burin-dev/burin/internal/mode/tui/theme"

// maxCache is how many bytes of drawn items are kept beside those on the screen.
const maxCache = 4 << 20

// look is what drawn items depend on beside the items themselves.
type look struct {
	width  int
	styles *theme.Styles
	links  bool
}

// cache keeps drawn items.
type cache struct {
	look  look
	rows  map[int]*drawn
	bytes int
	frame int
}

type drawn struct {
	rows  []string
	bytes int
	frame int // in which it was used last
}

func (c *cache) clear() { c.rows, c.bytes = nil, 0 }

// begin begins a frame: what was used before it may be forgotten.
func (c *cache) begin() { c.frame++ }

func (c *cache) drop(i int) {
	if d, ok := c.rows[i]; ok {
		c.bytes -= d.bytes
		delete(c.rows, i)
	}
}

func (c *cache) get(i int) ([]string, bool) {
	d, ok := c.rows[i]
	if !ok {
		return nil, false
	}
	d.frame = c.frame
	return d.rows, true
}

func (c *cache) put(i int, rows []string) {
	if c.rows == nil {
		c.rows = map[int]*drawn{}
	}
	d := &drawn{rows: rows, bytes: 100, frame: c.frame}
	for _, r := range rows {
		d.bytes += len(r) + 16
	}
	c.rows[i] = d
	c.bytes += d.bytes
	if c.bytes > 2*maxCache { // a jump over many items that are not shown
		c.trim()
	}
}

// trim forgets what this frame has not used, if that is too much.
func (c *cache) trim() {
	if c.bytes <= maxCache {
		return
	}
	for i, d := range c.rows {
		if d.frame != c.frame {
			c.drop(i)
		}
	}
}
