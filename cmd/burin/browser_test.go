package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a provider's answer names is opened only if it is a page.
func TestOnlyPagesAreOpened(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir()) // or bin would be a folder that commands may write
	t.Setenv("PATH", bin)
	ran := filepath.Join(bin, "ran")
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\n: >"+ran+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"", "--help", "file:///etc/passwd", "/etc/passwd", "javascript:alert(1)", "vscode://x/y", "https:", "http://a b/"} {
		if err := openBrowser(address); err == nil || !strings.Contains(err.Error(), "not the address of a page") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the desktop was asked")
	}
}
