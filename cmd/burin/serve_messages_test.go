package main

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/transcript"
)

// What a long chat may cost in the browser on a quiet machine.
const (
	tokenTime    = time.Millisecond      // of the main thread for each streamed token
	frameTime    = 12 * time.Millisecond // of scripts, styles and layout while scrolling: 95 of 100 frames
	taskTime     = 50 * time.Millisecond // of the longest task while scrolling
	heapGrowth   = 5 << 20               // bytes, from the 100th to the 1,000th chat opened
	paintTime    = 500 * time.Millisecond
	readyTime    = time.Second // both with a processor that is four times slower
	longChat     = 10_000      // messages
	mostElements = 2_500       // in the page, however long the chat is
	stillness    = 2           // pixels that what is in sight may move: rows end between pixels
)

// roomOf has the chats of a server that runs, so that a test can begin long ones.
func roomOf(t *testing.T, data string) *project.Store {
	t.Helper()
	db, v := serverRooms(t, data)
	pieces, err := attachment.New(t.Context(), db, v, nil)
	if err != nil {
		t.Fatal(err)
	}
	return project.New(db, v, vfs.New(db, vfs.Limits{}), search.New(db, v, 0), pieces)
}

// begun begins a chat with messages, the person's first, and gives its id and those of its entries.
func begun(t *testing.T, s *project.Store, title string, texts ...string) (id string, entries []string) {
	t.Helper()
	c, err := s.NewChat(t.Context(), ownerPerson, "", project.About{Title: title})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Open(t.Context(), ownerPerson, c, transcript.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		m := &llm.Message{Role: []llm.Role{llm.RoleUser, llm.RoleAssistant}[i%2], Content: []llm.Block{llm.Text{Text: text}}, Time: time.Now()}
		if m.Role == llm.RoleAssistant {
			m.StopReason = llm.StopEnd
		}
		var entry string
		if entry, err = l.Append(transcript.Entry{Type: transcript.TypeMessage, Message: m}); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return c.ID, entries
}

// exchange is what a long chat says: short messages, and sometimes a long one with all kinds of content.
func exchange(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		switch {
		case i%2 == 0:
			texts[i] = fmt.Sprintf("Question %d?", i)
		case i%100 == 51:
			texts[i] = fmt.Sprintf("Answer %d.\n\n%s", i, essay)
		default:
			texts[i] = fmt.Sprintf("Answer %d with *some* `code`.", i)
		}
	}
	return texts
}

// drawn is where an element is in the next frame: its top and its bottom. What a script measures may be
// a state that is never drawn: the list has new rows before it knows how high they are.
func (v *appVisit) drawn(selector string) (top, bottom float64) {
	v.t.Helper()
	var at [2]float64
	v.b.Eval(fmt.Sprintf(`new Promise((done) => new IntersectionObserver(([e], o) => { o.disconnect(); done([e.boundingClientRect.top, e.boundingClientRect.bottom]); }).observe(document.querySelector(%q)))`, selector), &at)
	return at[0], at[1]
}

// A chat of ten thousand messages opens at its end and is read in both directions; the page has
// only what is near the viewport, and what is in sight doesn't move. With BURIN_BUDGETS=1 its costs are held to budgets.
func TestServeAppLong(t *testing.T) {
	pacetest.Costly(t)
	quiet := os.Getenv("BURIN_BUDGETS") == "1"
	n, chats, runs := 2000, 0, 1
	if quiet {
		n, chats, runs = longChat, 1000, 10
	}
	const tokens = 400
	answer := strings.Repeat("word ", tokens)
	said := slices.Concat(llmtest.Say(answer), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1, Output: 1}))
	turns := []llmtest.Turn{{Events: said, Pace: 20 * time.Millisecond}}
	v := app(t, append(turns, slices.Repeat([]llmtest.Turn{{Events: said, Pace: 5 * time.Millisecond}}, runs)...), 1280, 800, false)
	b := v.b
	store := roomOf(t, v.home)
	id, entries := begun(t, store, "Long", exchange(n)...)
	b.Call("Performance.enable", map[string]any{"timeDomain": "threadTicks"}, nil) // what other programs take doesn't count

	began := time.Now()
	b.Open(v.c.url + "/c/" + id)
	b.Until(fmt.Sprintf(`document.body.innerText.includes('Answer %d with')`, n-1))
	t.Logf("a chat of %d messages is shown after %v", n, time.Since(began))
	elements := func() (count int) {
		b.Eval(`document.querySelectorAll('*').length`, &count)
		if count > mostElements {
			t.Errorf("the page has %d elements", count)
		}
		return count
	}
	elements()

	// It is read from the end to the beginning, screen by screen.
	var p95, longest []time.Duration
	for i := range runs {
		if i > 0 {
			b.Open(v.c.url + "/c/" + id)
			b.Until(fmt.Sprintf(`document.body.innerText.includes('Answer %d with')`, n-1))
		}
		b.Eval(`(() => { window.tasks = []; new PerformanceObserver((l) => tasks.push(...l.getEntries().map((e) => e.duration))).observe({type: 'longtask'}); })()`, nil)
		var frames []time.Duration
		was := b.Worked()
		for range 200 {
			b.Eval(`new Promise((r) => { document.querySelector('.scroller').scrollTop -= 240; requestAnimationFrame(() => setTimeout(r)); })`, nil)
			now := b.Worked()
			frames = append(frames, now-was)
			was = now
		}
		slices.Sort(frames)
		var tasks []float64
		b.Eval(`window.tasks`, &tasks)
		p95 = append(p95, frames[len(frames)*95/100])
		longest = append(longest, time.Duration(slices.Max(append(tasks, 0))*float64(time.Millisecond)))
	}
	t.Logf("scrolling: 95 of 100 frames take at most %v of scripts and layout, the longest task %v (0: below 50 ms)", p95, longest)
	if quiet && (median(p95) > frameTime || median(longest) > taskTime) {
		t.Errorf("medians %v and %v, want at most %v and %v", median(p95), median(longest), frameTime, taskTime)
	}
	b.Eval(`document.querySelector('.scroller').scrollTop = 0`, nil)
	b.Until(`document.body.innerText.includes('Question 0?') && !document.querySelector('.unread')`)
	count := elements()

	// A hit of a search is shown where it is, and stays there while what is above it gets its true height.
	hit := n/2 + 1
	b.Eval(fmt.Sprintf(`(history.pushState(null, '', '/c/%s#%s'), dispatchEvent(new PopStateEvent('popstate')))`, id, entries[hit]), nil)
	b.Until(fmt.Sprintf(`document.body.innerText.includes('Answer %d with')`, hit))
	place := func() float64 { top, _ := v.drawn("#m-" + entries[hit]); return top }
	first := place()
	if first < 0 || first > 800 {
		t.Errorf("the hit is at %v", first)
	}

	// The newest answer grows far below; nothing of what is in sight moves for it.
	v.c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/submit", map[string]any{"id": "1", "message": map[string]any{"role": "user", "content": "Go on"}}, nil)
	b.Until(`document.querySelector('.go.stop')`)
	for range 20 {
		b.Settle()
		if y := place(); math.Abs(y-first) > stillness {
			t.Fatalf("while an answer streams the hit moved from %v to %v", first, y)
		}
	}
	v.c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/wait", map[string]any{"id": "1"}, nil)
	b.Until(`!document.querySelector('.go.stop')`)
	if y := place(); math.Abs(y-first) > stillness {
		t.Errorf("once the answer was complete the hit moved from %v to %v", first, y)
	}
	if more := elements(); more > 2*count {
		t.Errorf("%d elements at the beginning, %d in the middle", count, more)
	}

	// At the end it follows the answer, token by token.
	b.Eval(`document.querySelector('.latest').click()`, nil)
	b.Until(`document.querySelector('.answer:last-of-type') && !document.querySelector('.latest')`)
	var each []time.Duration
	for i := range runs {
		turn := fmt.Sprint(i + 2)
		v.c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/submit", map[string]any{"id": turn, "message": map[string]any{"role": "user", "content": "More"}}, nil)
		b.Until(`document.querySelector('[aria-busy=true] .md')`)
		busy := b.Busy()
		v.c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/wait", map[string]any{"id": turn}, nil) // looking at the page would cost frames
		b.Until(`!document.querySelector('.go.stop')`)
		each = append(each, (b.Busy()-busy)/tokens)
	}
	t.Logf("a streamed token takes %v of the main thread", each)
	if quiet && median(each) > tokenTime {
		t.Errorf("median %v, want at most %v", median(each), tokenTime)
	}
	_, end := v.drawn(".after")
	if _, edge := v.drawn(".scroller"); end-edge > stillness {
		t.Errorf("the end of the answer is %v below the viewport", end-edge)
	}
	v.quiet("long")
	if quiet {
		v.opens(store, chats)
		v.starts(runs)
	}
}

// median is the larger of both in the middle where there are two.
func median(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// What is in messages: formulas, drawings, pages and pictures, which reach nothing; sources, the
// text as it was written, and pictures in large.
func TestServeAppMessages(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/chart.png" {
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(pictureBytes(t, ""))
		}
		asked.Add(1)
	}))
	defer other.Close()
	page := func(n int) string {
		return fmt.Sprintf("```html\n<title>Clock</title><p id=x>none</p><script>document.getElementById('x').textContent = 'live %d'; fetch('%s/leak')</script>\n```\n", n, other.URL)
	}
	const drawing = "```svg\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 200 100\"><rect width=\"200\" height=\"100\" fill=\"teal\"/><script>parent.postMessage({height: 3000}, '*')</script></svg>\n```\n\n"
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		dark := i == 0
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			cited := llmtest.Say("The sum is $\\frac{1}{4} + \\vec{v}$, it costs $5.\n\n$$\n\\sqrt{x^2}\n$$\n\n" + drawing + page(1) + "\n![a chart](" + other.URL + "/chart.png)\n")
			v := app(t, []llmtest.Turn{
				{Events: slices.Concat(cited, llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1, Output: 1}))},
				{Events: slices.Concat(llmtest.Say("Better:\n\n"+page(2)), llmtest.Stop(llm.StopLength, llm.Usage{Input: 1, Output: 1}))},
			}, size[0], size[1], dark)
			b := v.b
			b.Open(v.c.url + "/")
			b.Until(`document.querySelector('textarea')`)
			v.sends("Draw")
			b.Until(`document.querySelectorAll('.katex').length === 2 && document.querySelector('main iframe') && !document.querySelector('[aria-busy=true], .go.stop')`)
			b.Until(`document.querySelector('main iframe').offsetHeight !== 192`) // the drawing has said how high it is
			v.shows("drawn", "it costs $5", "Show image from 127.0.0.1")
			var high int
			if b.Eval(`document.querySelector('main iframe').offsetHeight`, &high); high > 800 {
				t.Errorf("a script of the drawing ran: it is %d high", high)
			}
			if asked.Load() != 0 {
				t.Error("something was asked of another server before a click")
			}
			b.Eval(`document.querySelector('.picture button').click()`, nil)
			b.Until(`document.querySelector('.remote iframe')?.offsetHeight === 64`)
			if asked.Swap(0) != 1 {
				t.Error("the picture was not asked for once")
			}
			v.sends("Better")
			b.Until(`document.body.innerText.includes('Better:') && !document.querySelector('[aria-busy=true], .go.stop')`)
			b.Eval(`[...document.querySelectorAll('[aria-label="Open in the side pane"]')].at(-1).click()`, nil)
			b.Until(`document.querySelector('aside iframe[src="/frame/live"]') && document.querySelector('aside footer').innerText.includes('Version 2 of 2')`)
			v.shows("pane", "length limit")
			b.Eval(`document.querySelector('aside [aria-label="Previous version"]').click()`, nil)
			b.Until(`document.querySelector('aside footer').innerText.includes('Version 1 of 2')`)
			b.Eval(`document.querySelectorAll('aside .tabs button')[1].click()`, nil)
			b.Until(`document.querySelector('aside code').innerText.includes('live 1')`)
			v.shows("code")
			b.Eval(`document.querySelector('aside header .icon').click()`, nil)
			b.Until(`!document.querySelector('aside')`)
			b.Eval(`[...document.querySelectorAll('[aria-label="Show as it was written"]')].at(-1).click()`, nil)
			b.Until("document.querySelector('.raw')?.innerText.includes('```html')")
			v.shows("raw")
			if n := asked.Load(); n != 0 {
				t.Errorf("pages of the model sent %d requests", n)
			}
		})
	}
}

// opens opens many chats, and looks what they leave behind.
func (v *appVisit) opens(store *project.Store, n int) {
	t, b := v.t, v.b
	t.Helper()
	heap := func() (bytes int) {
		b.Call("HeapProfiler.collectGarbage", nil, nil)
		var is struct{ UsedSize float64 }
		b.Call("Runtime.getHeapUsage", nil, &is)
		return int(is.UsedSize)
	}
	var before int
	for i := range n {
		id, _ := begun(t, store, fmt.Sprint("Chat ", i), exchange(60)...)
		b.Eval(fmt.Sprintf(`(history.pushState(null, '', '/c/%s'), dispatchEvent(new PopStateEvent('popstate')))`, id), nil)
		b.Until(`document.body.innerText.includes('Answer 59 with')`)
		if i+1 == n/10 {
			before = heap()
		}
	}
	grown := heap() - before
	t.Logf("the heap grew by %d bytes from the %dth to the %dth chat", grown, n/10, n)
	if grown > heapGrowth {
		t.Errorf("want at most %d", heapGrowth)
	}
}

// starts opens the app with a processor that is four times slower.
func (v *appVisit) starts(runs int) {
	t, b := v.t, v.b
	t.Helper()
	b.Call("Emulation.setCPUThrottlingRate", map[string]any{"rate": 4}, nil)
	var paint, ready []time.Duration
	for range runs {
		b.Open(v.c.url + "/")
		b.Until(`document.querySelector('textarea') && performance.getEntriesByName('first-contentful-paint').length > 0`)
		var at struct{ Paint, Ready float64 }
		b.Eval(`({paint: performance.getEntriesByName('first-contentful-paint')[0].startTime, ready: performance.getEntriesByName('ready')[0]?.startTime ?? performance.now()})`, &at)
		paint = append(paint, time.Duration(at.Paint*float64(time.Millisecond)))
		ready = append(ready, time.Duration(at.Ready*float64(time.Millisecond)))
	}
	b.Call("Emulation.setCPUThrottlingRate", map[string]any{"rate": 1}, nil)
	t.Logf("first contentful paint after %v, ready after %v", paint, ready)
	if median(paint) > paintTime || median(ready) > readyTime {
		t.Errorf("medians %v and %v, want at most %v and %v", median(paint), median(ready), paintTime, readyTime)
	}
}
