package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A person works on the files of a project on a phone and on a screen: looks at them, edits one while
// somebody else saves it, goes back to an old version, brings, moves, deletes and restores some, and sees
// what a model writes without a reload.
func TestServeAppProjectFiles(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		for _, dark := range []bool{false, true} {
			if dark != (i == 0) && !pacetest.Long(false, true, true) {
				continue
			}
			t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
				t.Parallel()
				used := llm.Usage{Input: 100, Output: 30}
				call := func(content string) llmtest.Turn {
					return llmtest.Turn{Events: slices.Concat(llmtest.Call("c1", "write", fmt.Sprintf(`{"path":"trip/model.md","content":%q}`, content)), llmtest.Stop(llm.StopToolUse, used))}
				}
				read := llmtest.Turn{Events: slices.Concat(llmtest.Call("c0", "read", `{"path":"trip/model.md"}`), llmtest.Stop(llm.StopToolUse, used))}
				say := llmtest.Turn{Events: slices.Concat(llmtest.Say("Written."), llmtest.Stop(llm.StopEnd, used))}
				v := &filesVisit{appVisit: app(t, []llmtest.Turn{call("# From the model\n"), say, read, call("# From the model\n\nOnce more.\n"), say}, size[0], size[1], dark), phone: size[0] < 600}
				v.name = "files-" + v.name
				var made struct{ ID string }
				v.c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Trip"}, &made)
				v.id, v.project = made.ID, "/v1/projects/"+made.ID
				v.fill()
				v.opens()
				v.edits()
				v.goesBack()
				v.manages()
				v.brings()
				v.follows()
				v.finds()
			})
		}
	}
}

type filesVisit struct {
	*appVisit
	id, project string
	phone       bool
}

// put writes a file by the API.
func (v *filesVisit) put(path, data string) {
	v.t.Helper()
	r := v.c.request("PUT", v.project+"/file?path="+url.QueryEscape(path), data)
	if got, said := v.c.do(r); got/100 != 2 {
		v.t.Fatalf("put %s: %d %s", path, got, said)
	}
}

// holds checks what a file has, in a version; "" is the current one.
func (v *filesVisit) holds(path, version, want string) {
	v.t.Helper()
	at := v.project + "/file?path=" + url.QueryEscape(path)
	if version != "" {
		at += "&version=" + version
	}
	if got := v.c.send(http.StatusOK, "GET", at, "", nil); got != want {
		v.t.Errorf("%s (%s) holds %q; want %q", path, version, got, want)
	}
}

// missing checks that nothing is at a path.
func (v *filesVisit) missing(path string) {
	v.t.Helper()
	v.c.send(http.StatusNotFound, "GET", v.project+"/file?path="+url.QueryEscape(path), "", nil)
}

func (v *filesVisit) fill() {
	v.put("/trip/day 1.md", "# Basel\n\nBy train.\n")
	v.put("/trip/day 1.md", "# Basel\n\nBy **train**, at nine.\n\n- museum\n- river\n")
	v.put("/code/main.go", "package main\n\nfunc main() { println(\"hello\") }\n")
	v.put("/share/style.md", "Write short sentences.\n")
	v.put("/minions/scout/plan.md", "Look around.\n")
	v.put("/data.bin", "\x00\x01\x02")
	v.put("/trip/deep/er/note.txt", "deep\r\nlines\r\n")
	var square bytes.Buffer
	picture := image.NewRGBA(image.Rect(0, 0, 120, 80))
	for x := range 120 {
		for y := range 80 {
			picture.Set(x, y, color.RGBA{uint8(x * 2), 90, uint8(y * 3), 255})
		}
	}
	if err := png.Encode(&square, picture); err != nil {
		v.t.Fatal(err)
	}
	v.put("/map.png", square.String())
}

// row finds a row of the tree.
func row(path string) string { return fmt.Sprintf(`document.querySelector('[data-key=%q]')`, path) }

// shown waits until the tree has a path.
func (v *filesVisit) shown(path string) { v.t.Helper(); v.b.Until(`!!` + row(path)) }

// act does something with the menu of a row.
func (v *filesVisit) act(path, what string) {
	v.t.Helper()
	v.list()
	v.shown(path)
	v.b.Eval(row(path)+`.querySelector('.act').click()`, nil)
	v.presses(".menu.at :is(button, a)", what)
}

// list goes back from a file to the list, on a phone.
func (v *filesVisit) list() {
	v.t.Helper()
	if v.phone {
		v.b.Eval(`document.querySelector('.pane .back')?.offsetParent && document.querySelector('.pane .back').click()`, nil)
		v.b.Until(`document.querySelector('.list').offsetParent`)
	}
}

// visit opens a file by its address.
func (v *filesVisit) visit(path string) {
	v.t.Helper()
	v.b.Open("about:blank")
	v.b.Open(v.c.url + "/p/" + v.id + "/files#" + strings.ReplaceAll(path, " ", "%20"))
	v.b.Until(`document.querySelector('.pane h2')`)
}

// opens looks at files of all kinds, by keys and by the pointer.
func (v *filesVisit) opens() {
	b := v.b
	b.Open(v.c.url + "/p/" + v.id)
	v.presses("header a", "Files of Trip")
	v.shown("/trip")
	b.Until(`document.querySelectorAll('[role=treeitem]').length === 6`)
	v.shows("list", "Files", "files and folders")
	b.Eval(row("/code")+`.focus()`, nil)
	b.Press("ArrowRight")
	v.shown("/code/main.go")
	b.Press("ArrowRight")
	b.Until(`document.activeElement.dataset.key === '/code/main.go'`)
	b.Press("ArrowLeft")
	b.Press("ArrowLeft")
	b.Until(`document.activeElement.dataset.key === '/code' && !` + row("/code/main.go"))
	b.Press("t")
	b.Until(`document.activeElement.dataset.key === '/trip'`)
	b.Press("Enter")
	v.shown("/trip/day 1.md")
	b.Until(`location.hash === '#/trip'`)
	if !v.phone {
		v.shows("folder", "Download as ZIP", "Rename or move")
	}
	b.Press("End")
	b.Until(`document.activeElement.dataset.key === '/map.png'`)
	b.Press("Home")
	b.Until(`document.activeElement.dataset.key === '/code'`)
	b.Eval(row("/trip/day 1.md")+`.click()`, nil)
	b.Until(`document.querySelector('.text strong')?.innerText === 'train' && document.querySelectorAll('.text li').length === 2`)
	v.shows("markdown", "Basel", "Version 2")
	v.presses("article header button", "Show the source")
	b.Until(`document.querySelector('.text pre')?.innerText.includes('**train**')`)
	v.shows("source", "**train**")
	if v.phone {
		v.presses(".pane button", "All files")
		b.Until(`document.querySelector('.list').offsetParent && location.hash === '#/trip'`)
	}
	b.Eval(row("/map.png")+`.click()`, nil)
	b.Until(`document.querySelector('.picture img')?.naturalWidth === 120`)
	v.shows("picture", "map.png")
	v.visit("/code/main.go")
	b.Until(`document.querySelector('.text .k')`)
	v.shows("code", "println")
	v.visit("/data.bin")
	v.shows("binary", "This kind of file isn't shown here")
	b.Open("about:blank")
	b.Open(v.c.url + "/p/" + v.id + "/files#/nothing.txt")
	b.Until(`document.body.innerText.includes('There is no /nothing.txt')`)
	v.shows("missing", "Trash")
}

// edits changes a text, keeps what isn't saved over a reload, and finds out that somebody else saved it.
func (v *filesVisit) edits() {
	b, t := v.b, v.t
	const file = "/trip/day 1.md"
	v.visit(file)
	b.Until(`document.querySelector('.text strong')`)
	v.presses("article header button", "Edit")
	b.Until(`document.activeElement.matches('article textarea')`)
	v.fills("article textarea", "# Basel\n\nBy bus.\n")
	v.shows("editing", "You have unsaved changes")
	b.Until(`Object.keys(localStorage).some((k) => k.startsWith('draft:file:'))`)
	v.visit(file) // as after a reload
	b.Until(`document.querySelector('article textarea')?.value === '# Basel\n\nBy bus.\n'`)
	v.shows("draft", "These are your changes from before")
	v.put(file, "# Basel\n\nBy boat, at ten.\n\n- museum\n")
	b.Until(`document.body.innerText.includes('Version 3 was saved meanwhile')`)
	v.shows("newer", "Compare")
	v.presses("article .bar button", "Save")
	b.Until(`document.activeElement.id === 'conflict' && document.querySelector('#conflict .diff')`)
	v.shows("conflict", "Somebody saved this file meanwhile", "By boat", "By bus")
	v.holds(file, "", "# Basel\n\nBy boat, at ten.\n\n- museum\n")
	v.presses("#conflict button", "Save mine as a new version")
	b.Until(`document.querySelector('.toasts').innerText.includes('Saved as version 4') && !document.querySelector('#conflict, article textarea')`)
	v.holds(file, "4", "# Basel\n\nBy bus.\n")
	v.holds(file, "3", "# Basel\n\nBy boat, at ten.\n\n- museum\n")
	var drafts bool
	if b.Eval(`Object.keys(localStorage).some((k) => k.startsWith('draft:file:'))`, &drafts); drafts {
		t.Error("the draft of what is saved is still there")
	}

	// The text of a file that was deleted meanwhile goes into a copy. Its ends of lines stay.
	const deep = "/trip/deep/er/note.txt"
	v.visit(deep)
	b.Until(`document.querySelector('.text pre')`)
	v.presses("article header button", "Edit")
	b.Until(`document.activeElement.matches('article textarea')`)
	b.Eval(`document.activeElement.setSelectionRange(0, 0)`, nil)
	b.Write("very ")
	b.Until(`document.querySelector('.bar .first:not(:disabled)')`)
	v.c.send(http.StatusOK, "DELETE", v.project+"/file?path="+url.QueryEscape(deep), "", nil)
	b.Until(`document.body.innerText.includes('was deleted or moved meanwhile')`)
	v.presses("article .bar button", "Save")
	b.Until(`document.querySelector('#conflict')`)
	v.shows("gone", "Save mine as a copy", "very deep")
	v.presses("#conflict button", "Save mine as a copy")
	b.Until(`document.querySelector('.pane h2')?.innerText === 'note (2).txt'`)
	v.holds("/trip/deep/er/note (2).txt", "", "very deep\r\nlines\r\n")
}

// goesBack looks at the versions of a file, and restores one.
func (v *filesVisit) goesBack() {
	b := v.b
	const file = "/trip/day 1.md"
	v.visit(file)
	b.Until(`document.querySelector('.text')`)
	v.presses("article header button", "Versions")
	b.Until(`document.querySelectorAll('.versions li').length === 4 && document.querySelector('.versions .diff')`)
	v.shows("versions", "by you", "current", "By bus")
	v.presses(".versions li button", "Version 2")
	b.Until(`document.querySelector('.versions .diff')?.innerText.includes('at nine')`)
	b.Eval(`(() => { const s = document.querySelector('.against select'); s.value = '4'; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, nil)
	b.Until(`document.querySelector('.versions .diff')?.innerText.includes('By bus')`)
	v.presses(".versions .choice button", "Content")
	b.Until(`document.querySelector('.versions pre')?.innerText.includes('**train**') && !document.querySelector('.versions .diff')`)
	v.shows("version", "Restore this version")
	v.presses(".versions button", "Restore this version")
	b.Until(`document.querySelectorAll('.versions li').length === 5`)
	v.holds(file, "5", "# Basel\n\nBy **train**, at nine.\n\n- museum\n- river\n")
	for n := range 8 {
		v.put("/code/main.go", fmt.Sprintf("package main // %d\n", n))
	}
	for n := range 3 {
		v.put("/code/main.go", fmt.Sprintf("package main // and %d\n", n))
	}
	v.visit("/code/main.go")
	v.presses("article header button", "Versions")
	v.presses(".versions .drop button", "Delete old versions")
	b.Until(`document.querySelector('.drop [role=alert]')`)
	v.shows("drop", "Delete 2 old versions for good?")
	v.presses(".versions .drop button", "Delete for good")
	b.Until(`document.querySelectorAll('.versions li').length === 10 && !document.querySelector('.drop')`)
}

// manages makes, moves, deletes and restores files.
func (v *filesVisit) manages() {
	b := v.b
	b.Open("about:blank")
	b.Open(v.c.url + "/p/" + v.id + "/files")
	v.shown("/code")
	v.presses(".list .head button", "New file")
	b.Until(`document.activeElement.id === 'files-name'`)
	v.shows("new", "New file")
	b.Write("data.bin")
	b.Press("Enter")
	b.Until(`document.querySelector('#files-problem').innerText.includes('taken')`)
	v.fills("#files-name", "lists/packing.txt")
	b.Press("Enter")
	b.Until(`location.hash === '#/lists/packing.txt' && document.activeElement.matches('article textarea')`)
	b.Write("a hat")
	b.Until(`document.querySelector('.bar .first:not(:disabled)')`)
	b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "s", "modifiers": 2, "windowsVirtualKeyCode": 83}, nil)
	b.Until(`document.querySelector('.text pre')?.innerText.includes('a hat')`)
	v.holds("/lists/packing.txt", "2", "a hat")

	v.act("/lists", "New folder")
	b.Until(`document.activeElement.id === 'files-name'`)
	b.Write("old")
	b.Press("Enter")
	b.Until(`!document.querySelector('dialog')`)
	v.shown("/lists/old")
	v.list()
	b.Eval(row("/lists/packing.txt")+`.querySelector('.act').click()`, nil)
	b.Until(`document.querySelector('.menu.at')`)
	v.shows("menu", "Rename or move", "Copy path")
	v.presses(".menu.at button", "Rename or move")
	b.Until(`document.querySelector('#files-folder option[value="/lists/old"]')`)
	v.fills("#files-name", "bags.txt")
	v.chooses("#files-folder", "/lists/old")
	v.shows("move", "Rename or move packing.txt")
	v.presses("dialog button", "Move")
	b.Until(`!document.querySelector('dialog')`)
	v.holds("/lists/old/bags.txt", "", "a hat")
	v.missing("/lists/packing.txt")

	v.act("/lists", "Delete")
	b.Until(`!` + row("/lists"))
	b.Until(`document.querySelector('.toast:last-child')?.innerText.includes('lists deleted')`)
	v.presses(".toast:last-child button", "Undo")
	v.shown("/lists")
	v.holds("/lists/old/bags.txt", "", "a hat")
	v.act("/lists", "Delete")
	b.Until(`!` + row("/lists"))
	v.missing("/lists/old/bags.txt")
	v.put("/data.bin", "a text takes its place")

	b.Eval(`document.querySelector('#files-more').click()`, nil)
	b.Until(`document.querySelector('.holds .menu')`)
	v.shows("more", "Download all as ZIP")
	v.presses(".holds .menu a", "Trash")
	b.Until(`document.querySelector('.trash')?.innerText.includes('Replaced files')`)
	v.shows("trash", "lists", "with 2 files and folders", "data.bin")
	v.presses(".trash button", "Restore lists")
	b.Until(`document.querySelector('.toasts').innerText.includes('lists restored')`)
	v.holds("/lists/old/bags.txt", "", "a hat")
	v.presses(".trash button", "Restore data.bin")
	b.Until(`document.querySelector('.toasts').innerText.includes('data (2).bin restored')`)
	v.holds("/data (2).bin", "", "\x00\x01\x02")
	v.presses(".trash button", "Delete note.txt for good")
	b.Until(`document.querySelector('.trash [role=alert]')`)
	v.shows("purge", "This can't be undone")
	v.presses(".trash .danger.button ~ .button, .trash li .button", "Cancel")
	b.Until(`!document.querySelector('.trash [role=alert]')`)
	v.presses(".trash button", "Empty the trash")
	b.Until(`document.querySelector('.trash .head [role=alert]')`)
	v.presses(".trash .head button", "Delete for good")
	b.Until(`document.querySelector('.trash')?.innerText.includes('The trash is empty')`)
	v.shows("emptied", "The trash is empty")
	var left struct{ Files []struct{ Deleted bool } }
	v.c.send(http.StatusOK, "GET", v.project+"/files?recursive=true&deleted=true", "", &left)
	for _, f := range left.Files {
		if f.Deleted {
			v.t.Errorf("something deleted is still there: %+v", left)
		}
	}
}

// brings drops files and folders of the machine, moves one with the pointer, and takes all as an archive.
func (v *filesVisit) brings() {
	b, t := v.b, v.t
	b.Open("about:blank")
	b.Open(v.c.url + "/p/" + v.id + "/files")
	v.shown("/code")
	dir := t.TempDir()
	for name, text := range map[string]string{"tour/a.txt": "a", "tour/sub/b.txt": "b", "single.txt": "one", "main.go": "package other\n"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "tour", "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	drop := func(on string, names ...string) {
		t.Helper()
		var at struct{ X, Y float64 }
		b.Eval(on+`.scrollIntoView({block: 'center'})`, nil)
		b.Settle()
		b.Eval(`(() => { const r = `+on+`.getBoundingClientRect(); return {x: r.x + 40, y: r.y + r.height / 2}; })()`, &at)
		files := make([]string, len(names))
		for i, name := range names {
			files[i] = filepath.Join(dir, name)
		}
		for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
			b.Call("Input.dispatchDragEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "data": map[string]any{"items": []any{}, "files": files, "dragOperationsMask": 1}}, nil)
		}
	}
	drop(row("/code"), "single.txt", "main.go", "tour")
	b.Until(`document.querySelector('.toasts').innerText.includes('4 files uploaded. 1 of them is a new version.')`)
	v.shows("uploaded", "uploaded")
	v.holds("/code/tour/sub/b.txt", "", "b")
	v.holds("/code/single.txt", "", "one")
	v.holds("/code/main.go", "", "package other\n")
	v.c.send(http.StatusOK, "GET", v.project+"/files?path=/code/tour/empty", "", nil)

	// A row is moved with the pointer.
	b.Eval(`(() => {
		const data = new DataTransfer(), from = `+row("/map.png")+`, to = `+row("/trip")+`;
		from.dispatchEvent(new DragEvent('dragstart', {dataTransfer: data, bubbles: true}));
		to.dispatchEvent(new DragEvent('dragover', {dataTransfer: data, bubbles: true, cancelable: true}));
		to.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
	})()`, nil)
	b.Until(`document.querySelector('.toasts').innerText.includes('map.png moved to /trip.')`)
	v.c.send(http.StatusOK, "GET", v.project+"/files/versions?path=/trip/map.png", "", nil)
	var link string
	b.Eval(`document.querySelector('#files-more').click()`, nil)
	b.Until(`document.querySelector('.holds .menu a[download]')`)
	b.Eval(`document.querySelector('.holds .menu a[download]').getAttribute('href')`, &link)
	packed := v.c.send(http.StatusOK, "GET", link, "", nil)
	archive, err := zip.NewReader(strings.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(archive.File, func(f *zip.File) bool { return strings.HasSuffix(f.Name, "tour/sub/b.txt") }) {
		t.Error("the archive doesn't have what was brought")
	}
	b.Press("Escape")
	b.Until(`!document.querySelector('.holds .menu')`)
}

// follows sees what others write and what the model of a chat does, in the list and in the file that is open.
func (v *filesVisit) follows() {
	b := v.b
	v.put("/trip/live.txt", "state")
	v.visit("/trip/live.txt")
	for n := range 5 { // the first may come with the lists that a page reads at its beginning
		v.put("/trip/live.txt", fmt.Sprintf("state %d", n))
		b.Until(fmt.Sprintf(`document.querySelector('.text')?.innerText.includes('state %d')`, n))
	}
	b.Open("about:blank")
	b.Open(v.c.url + "/p/" + v.id + "/files#/trip")
	v.shown("/trip/day 1.md")
	b.Eval(`window.same = true`, nil)
	chat := v.c.begin(v.id, "Write something")
	v.shown("/trip/model.md")
	b.Eval(row("/trip/model.md")+`.click()`, nil)
	b.Until(`document.querySelector('.text')?.innerText.includes('From the model')`)
	v.c.begin(v.id, "Write more")
	b.Until(`window.same && document.querySelector('.text')?.innerText.includes('Once more.')`)
	v.presses("article header button", "Versions")
	b.Until(`document.querySelectorAll('.versions li').length === 2`)
	v.presses(".versions li button", "Version 1")
	b.Until(`document.querySelector('.versions h3')?.innerText === 'Version 1' && document.querySelector('.versions pre')`)
	v.shows("by-model", "by a model", "Open the chat that wrote it")
	v.presses(".versions a", "Open the chat that wrote it")
	b.Until(fmt.Sprintf(`location.pathname === '/c/%s'`, chat))
}

// finds one of many files, which the list shows in parts.
func (v *filesVisit) finds() {
	b, t := v.b, v.t
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for n := range 700 {
		f, err := w.Create(fmt.Sprintf("page %d.txt", n))
		if err == nil {
			_, err = fmt.Fprintf(f, "Page %d\n", n)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	v.c.send(http.StatusOK, "POST", v.project+"/files/import?path=/book", packed.String(), nil)
	b.Open(v.c.url + "/p/" + v.id + "/files#/book")
	v.shown("/book")
	b.Eval(row("/book")+`.getAttribute('aria-expanded') === 'true' || `+row("/book")+`.click()`, nil)
	b.Until(`document.querySelector('.rest')?.textContent === 'Show more (400 left)'`)
	b.Eval(`document.querySelector('.rest').scrollIntoView()`, nil)
	v.shows("many", "Show more (400 left)")
	b.Eval(`document.querySelector('.rest').click()`, nil)
	v.shown("/book/page 300.txt")
	b.Until(`document.querySelector('.rest')?.textContent === 'Show more (100 left)' && document.activeElement.dataset.key === '/book/page 300.txt'`)
	v.fills(".find", "book 699")
	b.Until(`document.querySelectorAll('.found .row').length === 1`)
	v.shows("found", "1 found", "page 699.txt")
	b.Eval(`document.querySelector('.found .row').click()`, nil)
	b.Until(`document.querySelector('.text pre')?.innerText.includes('Page 699')`)
	b.Eval(`dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true, bubbles: true, cancelable: true}))`, nil)
	b.Until(`document.querySelector('dialog[open] input')`)
	b.Eval(`document.querySelector('dialog input').focus()`, nil)
	b.Write("files of")
	b.Until(`[...document.querySelectorAll('dialog [role=option]')].some((e) => e.innerText.includes('Files of Trip'))`)
	b.Press("Enter")
	b.Until(`!document.querySelector('dialog') && location.pathname.endsWith('/files') && !location.hash`)
}
