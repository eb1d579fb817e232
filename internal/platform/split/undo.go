package split

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// mark begins what the reflog says of commits that burin made.
func mark(n int, staged bool) string {
	kind := ""
	if staged {
		kind = " staged"
	}
	return fmt.Sprintf("burin commit: %d%s: ", n, kind)
}

// marked reads a mark.
func marked(why string) (n int, staged, ok bool) {
	rest, ok := strings.CutPrefix(why, "burin commit: ")
	if !ok {
		return 0, false, false
	}
	rest, _, _ = strings.Cut(rest, ":")
	rest, staged = strings.CutSuffix(rest, " staged")
	n, err := strconv.Atoi(rest)
	return n, staged, err == nil && n > 0
}

// Undo moves the branch back to before the commits that [Repo.Make] made last, and gives the
// subjects of these, newest first. The working tree stays as it is, and what was committed counts
// as changed or staged again. Where the branch has moved since it refuses.
func (r *Repo) Undo(ctx context.Context) ([]string, error) {
	if err := r.idle(); err != nil {
		return nil, err
	}
	ref, err := r.branch(ctx)
	if err != nil {
		return nil, err
	}
	tip, err := r.commit(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	if tip == "" {
		return nil, errors.New("nothing to undo: there is no commit yet")
	}
	var none int
	log, err := r.git(ctx, command{fails: &none}, "log", "-g", "-1", "--no-show-signature", "--format=%H%x00%gs", ref, "--")
	if err != nil {
		return nil, err
	}
	at, why, _ := strings.Cut(strings.TrimSpace(log), "\x00")
	n, staged, ok := marked(why)
	if !ok || at != tip {
		return nil, errors.New("nothing to undo: the last thing that happened to the branch was not burin commit")
	}
	old, err := r.commit(ctx, fmt.Sprintf("%s~%d", tip, n))
	if err != nil {
		return nil, err
	}
	subjects, err := r.git(ctx, command{}, "log", "--no-show-signature", "--format=%s", fmt.Sprint("-", n), tip)
	if err != nil {
		return nil, err
	}
	var ops []op
	if !staged {
		if ops, err = r.before(ctx, old, tip); err != nil {
			return nil, err
		}
	}
	err = r.replaceIndex(ctx, ops, func(ctx context.Context) error {
		args := []string{"update-ref", "-m", "burin commit --undo", ref, old, tip}
		if old == "" {
			args = []string{"update-ref", "-m", "burin commit --undo", "-d", ref, tip}
		}
		_, err := r.git(ctx, command{}, args...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSpace(subjects), "\n"), nil
}

// before are the entries of old where the index has those of tip.
func (r *Repo) before(ctx context.Context, old, tip string) (ops []op, err error) {
	base, err := r.tree(ctx, old)
	if err != nil {
		return nil, err
	}
	out, err := r.git(ctx, command{}, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", base, tip+"^{tree}")
	if err != nil {
		return nil, err
	}
	index, err := r.git(ctx, command{}, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	now := map[string]string{}
	for entry := range strings.SplitSeq(index, "\x00") {
		if what, path, ok := strings.Cut(entry, "\t"); ok {
			now[path] = strings.TrimSuffix(what, " 0")
		}
	}
	for _, d := range parseRaw(out) {
		has, there := now[d.to.path]
		if d.to.mode == gone && !there || there && has == d.to.mode+" "+d.to.object {
			ops = append(ops, d.from)
		}
	}
	return ops, nil
}
