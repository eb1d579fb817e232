package shell

import "testing"

func TestFillsScreen(t *testing.T) {
	for line, want := range map[string]bool{
		"vi a.txt": true, "cd x && vim": true, "/usr/bin/nano a": true, "env X=1 emacs -nw a": true, "nvim -- a": true,
		"watch -n 1 date": true, "watch 'ls | wc -l'": true, "top": true, "htop; true": true, "make && (tig)": true, "git log | view -": true,
		"vim -c ':%s/a/b/' -c ':wq' a": false, "nvim --headless +q": false, "emacs --batch -f x": false, "top -bn1": false,
		"watch -g ls": false, "vi --version": false, "echo vi": false, "./watch": false, "npm run watch": false, "go test ./top": false, "git commit -m 'watch vi'": false,
	} {
		if why := fillsScreen(line); (why != "") != want {
			t.Errorf("%q: %q", line, why)
		}
	}
}
