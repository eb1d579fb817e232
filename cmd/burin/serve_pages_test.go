package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/browsertest"
	"github.com/burin-dev/burin/internal/pacetest"
)

// pictures is the folder for pictures of the pages, for people to look at.
const pictures = "PAGES_PICTURES"

// A person is invited, signs in with two steps and sees to the account, in a browser that runs no
// scripts. Nothing is wider than the screen, all that is pressed is large enough for a finger,
// and the browser complains of nothing.
func TestPages(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	c.url = strings.Replace(c.url, "127.0.0.1", "localhost", 1)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		for _, dark := range []bool{false, true} {
			if dark == (i == 0) && pacetest.Long(true, false, false) {
				continue // each size and each scheme is seen; in CI all pairs are
			}
			name := fmt.Sprintf("ann%d%v", i, dark)
			t.Run(name, func(t *testing.T) {
				b := browsertest.Start(t, size[0], size[1], dark)
				b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
				p := pageVisit{t, b, name}
				p.walk(strings.TrimSpace(run(t, cmd, "admin", "invite", "--url", c.url)), strings.TrimSpace(run(t, cmd, "admin", "link", "--url", c.url)), c.url)
			})
		}
	}
}

// pageVisit is a person at the pages.
type pageVisit struct {
	t    *testing.T
	b    *browsertest.Browser
	name string
}

// fill types into a field.
func (p pageVisit) fill(id, text string) {
	p.t.Helper()
	p.b.Eval(fmt.Sprintf(`document.getElementById(%q).focus()`, id), nil)
	p.b.Eval(fmt.Sprintf(`document.getElementById(%q).select()`, id), nil)
	p.b.Write(text)
}

// press presses a button, and waits for the page that comes.
func (p pageVisit) press(selector string) {
	p.t.Helper()
	p.b.Forget()
	p.b.Eval(fmt.Sprintf(`document.querySelector(%q).click()`, selector), nil)
	p.b.Await("Page.loadEventFired")
}

// sees checks what is on the page, and how it is there.
func (p pageVisit) sees(picture, want string) {
	p.t.Helper()
	var text string
	p.b.Eval(`document.body.innerText`, &text)
	if !strings.Contains(text, want) {
		p.t.Errorf("%s: the page doesn't say %q:\n%s", picture, want, text)
	}
	var wrong []string
	p.b.Eval(`(() => {
		const all = [];
		if (document.documentElement.scrollWidth > innerWidth) all.push('it is ' + document.documentElement.scrollWidth + ' wide');
		for (const e of document.querySelectorAll('button, input:not([type=hidden]):not([hidden]), select')) {
			const r = e.getBoundingClientRect();
			if (r.height && r.height < 43) all.push(e.outerHTML + ' is ' + r.height + ' high');
			if (e.tagName !== 'BUTTON' && !e.labels.length) all.push(e.outerHTML + ' has no label');
		}
		for (const e of document.querySelectorAll('[hidden]')) if (e.getBoundingClientRect().height) all.push(e.outerHTML + ' is shown');
		const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
		if (new Set(ids).size !== ids.length) all.push('two elements have one id: ' + ids);
		if (!document.querySelector('h1') || !document.title || document.documentElement.lang !== 'en') all.push('it has no heading, title or language');
		const light = (c) => { const [r, g, b] = c.match(/[\d.]+/g).map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
		for (const e of document.querySelectorAll('p, h1, h2, label, small, span, button, a, summary')) {
			if (!e.innerText?.trim() || !e.getBoundingClientRect().height) continue;
			let on = e, ground;
			while (on && (ground = getComputedStyle(on).backgroundColor) === 'rgba(0, 0, 0, 0)') on = on.parentElement;
			const [a, b] = [light(getComputedStyle(e).color), light(ground || 'rgb(255, 255, 255)')].sort((x, y) => y - x);
			if ((a + .05) / (b + .05) < 4.5) all.push(e.outerHTML.slice(0, 80) + ' has the contrast ' + (a + .05) / (b + .05));
		}
		return all;
	})()`, &wrong)
	for _, w := range wrong {
		p.t.Errorf("%s: %s", picture, w)
	}
	for _, e := range p.b.Events() {
		// Where this test is faster than autofocus, the browser says so as information; an icon is
		// not there where a page is left before it was loaded.
		said := string(e.Params)
		if e.Method == "Log.entryAdded" && !strings.Contains(said, `"level":"info"`) && !strings.Contains(said, "the server responded with a status of 4") && !strings.Contains(said, "icon from the Manifest") {
			p.t.Errorf("%s: the browser complains: %s", picture, said)
		}
	}
	if dir := os.Getenv(pictures); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, p.name+"-"+picture+".png"), p.b.Picture(), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p pageVisit) walk(invitation, link, at string) {
	b := p.b
	b.Open(invitation)
	p.sees("join", "You are invited as member")
	p.fill("name", p.name)
	p.fill("display", "Ann Other")
	p.fill("password", "1234567890")
	p.press("form button")
	p.sees("join-wrong", "This one is among the first that are guessed")
	var focused string
	if b.Eval(`document.activeElement.id`, &focused); focused != "password" {
		p.t.Errorf("the focus is on %q", focused)
	}
	p.fill("password", personPassword)
	p.press("form button")
	b.Open(at + "/account") // the app needs scripts
	p.sees("account", "Ann Other")
	p.fill("factor-password", personPassword)
	p.press("[action='/account/factor'] button")
	p.sees("enroll", "Type this key into an app")
	var secret string
	b.Eval(`document.querySelector('.secret').innerText.replaceAll(' ', '')`, &secret)
	p.fill("code", totp(p.t, secret))
	p.press("[action='/account/confirm'] button")
	p.sees("codes", "Your recovery codes")
	var code string
	b.Eval(`document.querySelector('.codes li').innerText`, &code)
	b.Eval(`document.querySelector('[action="/account/token"]').parentElement.open = true`, nil)
	p.fill("token", "dashboard")
	p.press("[action='/account/token'] button")
	p.sees("token", "Your new token")
	b.Eval(`scrollTo(0, document.body.scrollHeight)`, nil)
	p.sees("bottom", "dashboard")
	p.press("[action='/signout'] button")
	p.sees("signin", "Welcome back")
	p.fill("name", p.name)
	p.fill("password", "a wrong one")
	p.press("form button")
	p.sees("signin-wrong", "The name or the password is wrong.")
	p.fill("password", personPassword)
	p.press("form button")
	p.sees("second", "One more step")
	p.fill("code", code)
	p.press("form button")
	b.Open(at + "/account")
	p.sees("account-again", "9 recovery codes left")
	b.Open(link)
	p.sees("open", "Sign in here")
	p.press("form button")
	b.Open(at + "/account")
	p.sees("owner", "owner · admin")
	b.Open(link)
	p.press("form button")
	p.sees("open-again", "was used already")
	b.Open(at + "/join/nothing")
	p.sees("gone", "This invitation doesn't work")
}
