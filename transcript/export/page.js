'use strict';
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const make = (tag, cls, text) => {
    const el = document.createElement(tag);
    if (cls) el.className = cls;
    if (text !== undefined) el.textContent = text;
    return el;
  };
  const shape = JSON.parse($('#shape').textContent);
  const nodes = shape.nodes.map(([parent, kind, text, label = '', owner = -1, slot = 0]) =>
    ({ parent, kind, text, label, owner, slot, kids: [], last: 0, says: false, on: false }));
  const roots = [];
  const log = $('#log'), tree = $('#tree'), side = $('#side'), rest = $('#rest').content;
  const doc = document.documentElement;
  const narrow = matchMedia('(max-width: 56rem)');

  // What follows from the parents: children, the newest entry below, whether anything is said below.
  nodes.forEach((n, i) => (n.parent < 0 ? roots : nodes[n.parent].kids).push(i));
  for (let i = nodes.length - 1; i >= 0; i--) {
    const n = nodes[i];
    n.last = Math.max(n.last, i);
    n.says ||= 'uatrnbc'.includes(n.kind);
    if (n.parent >= 0) {
      const p = nodes[n.parent];
      p.last = Math.max(p.last, n.last);
      p.says ||= n.says;
    }
  }
  const pathTo = (i) => {
    const path = [];
    for (; i >= 0; i = nodes[i].parent) path.push(i);
    return path.reverse();
  };
  const newest = (kids) => kids.reduce((a, b) => (nodes[b].last > nodes[a].last ? b : a));
  const tipOf = (i) => {
    while (nodes[i].kids.length) i = newest(nodes[i].kids);
    return i;
  };

  // Elements of entries, wherever they are now.
  const found = new Map();
  const el = (i) => {
    let e = found.get(i);
    if (!e) {
      e = document.getElementById('e' + i) || rest.getElementById('e' + i);
      found.set(i, e);
    }
    return e;
  };

  let leaf = shape.leaf;
  let path = pathTo(leaf);
  path.forEach((i) => { nodes[i].on = true; });
  const main = new Set(path); // the tree keeps the shape it has at first

  // Branches.
  function show(tip) {
    path.forEach((i) => { el(i); nodes[i].on = false; });
    leaf = tip;
    path = pathTo(tip);
    const all = document.createDocumentFragment();
    for (const i of path) {
      nodes[i].on = true;
      if ('at'.includes(nodes[i].kind)) for (const s of el(i).querySelectorAll('.slot')) s.replaceChildren();
      const own = nodes[i].owner;
      const slot = own >= 0 ? $(`.slot[data-k="${nodes[i].slot}"]`, el(own)) : null;
      (slot || all).append(el(i));
      if (slot && el(i).matches('.show')) slot.closest('details').open = true;
    }
    log.replaceChildren(all);
    forks();
    watch();
    draw();
  }
  function forks() {
    for (const i of path) {
      const head = $(':scope > header', el(i));
      if (!head) continue;
      const old = $('.fork', head);
      if (old) continue;
      const all = (nodes[i].parent < 0 ? roots : nodes[nodes[i].parent].kids).filter((k) => nodes[k].says);
      const at = all.indexOf(i);
      if (all.length < 2 || at < 0) continue;
      const nav = make('span', 'fork');
      nav.setAttribute('role', 'group');
      nav.setAttribute('aria-label', `branch ${at + 1} of ${all.length}`);
      const step = (by, sign, name) => {
        const b = make('button', '', sign);
        b.type = 'button';
        b.setAttribute('aria-label', name);
        b.onclick = () => go(all[(at + by + all.length) % all.length]);
        return b;
      };
      nav.append(step(-1, '‹', 'previous branch'), make('span', '', `${at + 1}/${all.length}`), step(1, '›', 'next branch'));
      head.insertBefore(nav, $(':scope > a', head));
    }
  }
  function openAround(e) {
    for (let d = e.closest('details'); d; d = d.parentElement && d.parentElement.closest('details')) d.open = true;
  }
  let held = 0; // until when scrolling does not move the mark in the tree: it was just put there
  function go(i, focus = true) {
    held = performance.now() + 300;
    if (!nodes[i].on) show(tipOf(i));
    const e = el(i);
    openAround(e);
    if (e.matches('.res')) openAround($('p', e));
    e.scrollIntoView({ block: 'start' });
    requestAnimationFrame(() => e.scrollIntoView({ block: 'start' })); // heights above may have been guesses
    if (focus) e.focus({ preventScroll: true });
    try { history.replaceState(null, '', '#e' + i); } catch { /* some viewers forbid it */ }
    here(i);
    if (narrow.matches) doc.classList.add('no-tree');
  }

  // The tree: only the rows in sight exist.
  const height = 30;
  const rows = []; // {i, depth, line}: all, in order
  const lines = new Map(); // head of a line of entries -> the line it leaves, and after which entry
  {
    const stack = [];
    const branch = (kids, depth, line) => {
      if (!kids.length) return;
      const first = kids.find((k) => main.has(k)) ?? newest(kids);
      stack.push([first, depth, line < 0 ? first : line]);
      for (const k of kids.filter((k) => k !== first).reverse()) {
        lines.set(k, { parent: line, from: nodes[k].parent });
        stack.push([k, depth + 1, k]);
      }
    };
    branch(roots, 0, -1);
    while (stack.length) {
      const [i, depth, line] = stack.pop();
      rows.push({ i, depth, line });
      branch(nodes[i].kids, depth, line);
    }
  }
  const folded = new Set();
  let seen = [], place = new Map(), holders = new Set(), cursor = 0, current = leaf, filter = 'default';
  const shows = (i) => {
    const n = nodes[i];
    switch (filter) {
      case 'all': return true;
      case 'labeled': return n.label !== '';
      case 'user-only': return n.kind === 'u';
      case 'no-tools': return 'uanbc'.includes(n.kind) || i === leaf;
    }
    return 'uarnbc'.includes(n.kind) || i === leaf;
  };
  const canvas = make('div');
  canvas.setAttribute('role', 'presentation');
  tree.append(canvas);
  function draw() {
    const gone = new Set();
    holders = new Set();
    seen = [];
    place = new Map();
    for (const row of rows) {
      const line = lines.get(row.line);
      if (row.i === row.line && line) {
        let h = line.from;
        while (h >= 0 && !shows(h)) h = nodes[h].parent;
        if (h >= 0) holders.add(h);
        if (gone.has(line.parent) || folded.has(h)) gone.add(row.line);
      }
      if (gone.has(row.line) || !shows(row.i)) continue;
      place.set(row.i, seen.length);
      seen.push(row);
    }
    canvas.style.height = seen.length * height + 'px';
    cursor = Math.min(cursor, Math.max(seen.length - 1, 0));
    paint();
  }
  function paint() {
    const from = Math.max(0, Math.floor(tree.scrollTop / height) - 8);
    const to = Math.min(seen.length, Math.ceil((tree.scrollTop + tree.clientHeight) / height) + 8);
    const out = document.createDocumentFragment();
    for (let k = from; k < to; k++) out.append(rowOf(k));
    if (seen.length && (cursor < from || cursor >= to)) out.append(rowOf(cursor));
    canvas.replaceChildren(out);
    if (seen.length) tree.setAttribute('aria-activedescendant', 'row' + seen[cursor].i);
    else tree.removeAttribute('aria-activedescendant');
  }
  function rowOf(k) {
    const { i, depth } = seen[k], n = nodes[i];
    const row = make('div', 'row ' + n.kind);
    row.id = 'row' + i;
    row.style.top = k * height + 'px';
    row.setAttribute('role', 'treeitem');
    row.setAttribute('aria-level', depth + 1);
    row.setAttribute('aria-setsize', seen.length);
    row.setAttribute('aria-posinset', k + 1);
    row.setAttribute('aria-selected', i === current);
    if (n.on) {
      row.classList.add('on');
      if (i === leaf) row.setAttribute('aria-current', 'true');
    }
    if (i === current) row.classList.add('here');
    if (k === cursor) row.classList.add('cur');
    if (hits.has(i)) row.classList.add('hit');
    for (let d = 0; d < Math.min(depth, 8); d++) {
      const rail = make('span', 'rail');
      rail.style.width = '14px';
      row.append(rail);
    }
    const fold = make('span', holders.has(i) ? 'fold some' : 'fold');
    if (holders.has(i)) {
      row.setAttribute('aria-expanded', !folded.has(i));
      fold.onclick = (ev) => { ev.stopPropagation(); toggle(i); };
    }
    row.append(fold, make('span', 'sign'));
    if (n.label) row.append(make('span', 'label', n.label));
    row.append(make('span', 'words', n.text || '…'));
    row.title = n.text;
    row.onclick = () => { cursor = k; go(i); };
    return row;
  }
  function toggle(i, open = folded.has(i)) {
    if (open) folded.delete(i); else folded.add(i);
    draw();
    move(place.get(i) ?? cursor);
  }
  function move(k) {
    cursor = Math.max(0, Math.min(k, seen.length - 1));
    const top = cursor * height;
    if (top < tree.scrollTop) tree.scrollTop = top;
    else if (top + height > tree.scrollTop + tree.clientHeight) tree.scrollTop = top + height - tree.clientHeight;
    paint();
  }
  function here(i) { // the entry that is being read
    while (i >= 0 && !place.has(i)) i = nodes[i].parent;
    if (i < 0) i = seen.length ? seen[0].i : -1;
    if (i < 0 || i === current) return paint();
    current = i;
    if (document.activeElement !== tree) move(place.get(i));
    else paint();
  }
  let painting = false;
  tree.addEventListener('scroll', () => {
    if (painting) return;
    painting = true;
    requestAnimationFrame(() => { painting = false; paint(); });
  }, { passive: true });
  tree.addEventListener('keydown', (ev) => {
    if (!seen.length || ev.ctrlKey || ev.metaKey || ev.altKey) return;
    const i = seen[cursor].i, page = Math.max(1, Math.floor(tree.clientHeight / height) - 1);
    const keys = {
      ArrowDown: () => move(cursor + 1), ArrowUp: () => move(cursor - 1),
      PageDown: () => move(cursor + page), PageUp: () => move(cursor - page),
      Home: () => move(0), End: () => move(seen.length - 1),
      Enter: () => go(i), ' ': () => go(i),
      ArrowRight: () => (holders.has(i) && folded.has(i) ? toggle(i, true) : move(cursor + 1)),
      ArrowLeft: () => {
        if (holders.has(i) && !folded.has(i)) return toggle(i, false);
        const line = lines.get(seen[cursor].line);
        let h = line ? line.from : -1;
        while (h >= 0 && !place.has(h)) h = nodes[h].parent;
        if (h >= 0) move(place.get(h));
      },
    };
    if (!keys[ev.key]) return;
    ev.preventDefault();
    ev.stopPropagation();
    keys[ev.key]();
  });
  $('#filter').onchange = (ev) => {
    filter = ev.target.value;
    doc.dataset.filter = filter;
    draw();
    if (place.has(current)) move(place.get(current));
  };

  // Search in the text of all entries.
  const input = $('#find input'), output = $('#find output');
  const most = 10000; // matches that are counted
  const marked = 2000; // matches that are highlighted at once
  let texts = null, matches = [], at = -1, hits = new Set(), wanted = null;
  const outside = (e) => e.localName === 'header' || e.className === 'slot' || e.className === 'copy' ||
    (e.localName === 'summary' && e.parentNode.className === 'more') ||
    (e.localName === 'code' && e.parentNode.localName === 'summary'); // the arguments say it again
  function walk(e, each) { // over the text nodes that belong to an entry itself
    for (let n = e.firstChild; n; n = n.nextSibling) {
      if (n.nodeType === 3) each(n);
      else if (n.nodeType === 1 && !outside(n)) walk(n, each);
    }
  }
  function textOf(e) {
    let s = '';
    walk(e, (n) => { s += n.data; });
    return s;
  }
  function search() {
    const words = input.value.trim();
    matches = [];
    at = -1;
    hits = new Set();
    wanted = words ? new RegExp(words.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replace(/\s+/g, '\\s+'), 'giu') : null;
    if (wanted) {
      texts ??= nodes.map((_, i) => textOf(el(i)) + '\n' + nodes[i].label);
      for (const { i } of rows) {
        if (nodes[i].kind === 'q' && filter !== 'all') continue;
        let k = 0;
        for (const _ of texts[i].matchAll(wanted)) {
          if (matches.length === most) break;
          matches.push([i, k++]);
        }
        if (k) hits.add(i);
      }
    }
    tell();
    mark();
    paint();
  }
  function tell() {
    output.textContent = !wanted ? '' : !matches.length ? 'none'
      : `${at < 0 ? '' : at + 1 + '/'}${matches.length}${matches.length === most ? '+' : ''}`;
  }
  // spans makes ranges of offsets that grow, over [offset, text node] parts. They are
  // static: what moves in the document keeps them.
  function spans(parts) {
    let p = 0;
    return (from, to) => {
      while (p + 1 < parts.length && parts[p + 1][0] <= from) p++;
      let q = p;
      while (q + 1 < parts.length && parts[q + 1][0] < to) q++;
      return new StaticRange({ startContainer: parts[p][1], startOffset: from - parts[p][0], endContainer: parts[q][1], endOffset: to - parts[q][0] });
    };
  }
  function rangesIn(i) { // in the order in which search counted them
    const parts = [];
    let s = '';
    walk(el(i), (n) => { parts.push([s.length, n]); s += n.data; });
    const out = [];
    const span = spans(parts);
    for (const m of s.matchAll(wanted)) out.push(span(m.index, m.index + m[0].length));
    return out;
  }
  function mark(now) {
    if (!CSS.highlights) return;
    CSS.highlights.delete('find');
    CSS.highlights.delete('now');
    if (!wanted) return;
    const all = [];
    const start = Math.max(0, at);
    let last = -1;
    for (let k = 0; k < matches.length && all.length < marked; k++) {
      const i = matches[(start + k) % matches.length][0];
      if (i === last || !nodes[i].on) continue;
      last = i;
      for (const range of rangesIn(i)) all.push(range);
    }
    CSS.highlights.set('find', new Highlight(...all));
    if (now) {
      const h = new Highlight(now);
      h.priority = 1;
      CSS.highlights.set('now', h);
    }
  }
  function step(by) {
    if (!matches.length) return;
    if (at < 0) {
      at = by > 0 ? 0 : matches.length - 1;
      const first = matches.findIndex(([i]) => nodes[i].on && i >= reading());
      if (by > 0 && first >= 0) at = first;
    } else at = (at + by + matches.length) % matches.length;
    const [i, k] = matches[at];
    go(i, false);
    const range = rangesIn(i)[k];
    if (range) {
      openAround(range.startContainer.parentElement);
      const see = () => range.startContainer.parentElement.scrollIntoView({ block: 'center' });
      requestAnimationFrame(() => { see(); requestAnimationFrame(see); });
    }
    tell();
    mark(range);
  }
  let waiting = 0;
  input.oninput = () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  };
  const find = (by) => {
    clearTimeout(waiting);
    if (!wanted || !matches.length) search();
    step(by);
  };
  $('#find').onsubmit = (ev) => {
    ev.preventDefault();
    clearTimeout(waiting);
    search();
    step(1);
  };
  input.onkeydown = (ev) => {
    if (ev.key === 'Enter' && wanted && matches.length && at >= 0) {
      ev.preventDefault();
      find(ev.shiftKey ? -1 : 1);
    } else if (ev.key === 'Escape') {
      input.value = '';
      search();
      input.blur();
    }
  };
  $('#next').onclick = () => find(1);
  $('#prev').onclick = () => find(-1);

  // Messages.
  const idOf = (e) => Number(e.id.slice(1));
  function topmost() { // index of the first element of the conversation in sight
    const all = log.children, edge = 80;
    let lo = 0, hi = all.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      let k = mid, box = all[k].getBoundingClientRect();
      while (!box.height && ++k < hi) box = all[k].getBoundingClientRect(); // past what is hidden
      if (k < hi && box.bottom <= edge) lo = k + 1; else hi = mid;
    }
    return lo;
  }
  const reading = () => { const e = log.children[topmost()]; return e ? idOf(e) : -1; };
  function jump(by) {
    const all = log.children;
    let k = topmost();
    const stop = (e) => e.matches('.msg, .cut, .alone') && e.getBoundingClientRect().height > 0;
    if (all[k] && by > 0 && all[k].getBoundingClientRect().top > 90) k--; // before the first message
    for (k += by; k >= 0 && k < all.length; k += by) {
      if (stop(all[k])) return go(idOf(all[k]));
    }
    if (by < 0) scrollTo(0, 0);
  }
  let following = false;
  addEventListener('scroll', () => {
    if (following) return;
    following = true;
    requestAnimationFrame(() => {
      following = false;
      const i = reading();
      if (i >= 0 && performance.now() > held) here(i);
    });
  }, { passive: true });
  addEventListener('resize', paint);

  // Code: a button to copy, and colors, when it comes into sight.
  const words = new Set(('abstract and as assert async await bool boolean break case catch chan char class const continue def default defer ' +
    'delete do done double elif else end enum error esac except export extends extern false fi final finally float fn for from func function global go goto ' +
    'if impl implements import in instanceof int interface is lambda let local loop long map match mod module mut namespace new nil None nonlocal not null ' +
    'of or package pass private protected pub public raise range return self select short static string struct super switch then this throw trait True False true try type ' +
    'typeof undefined union unless unsafe until use using var virtual void when where while with yield ' +
    'SELECT FROM WHERE INSERT INTO UPDATE DELETE CREATE TABLE INDEX JOIN LEFT ON AND OR NOT NULL ORDER GROUP BY LIMIT VALUES SET AS PRIMARY KEY').split(' '));
  const comments = { '#': /^(py|python|sh|bash|zsh|shell|console|rb|ruby|ya?ml|toml|make|makefile|docker|dockerfile|r|perl|pl|ini|conf|elixir|nix|tf|hcl|ps1)$/,
    '--': /^(sql|lua|hs|haskell|elm|ada)$/, '<': /^(html?|xml|svg|vue|svelte|md|markdown)$/, '': /^(text|txt|plain|diff|patch|json)$/ };
  const styles = {};
  function color(code) {
    const lang = code.dataset.lang, s = code.textContent;
    if (!CSS.highlights || !lang || s.length > 20000 || /^(text|txt|plain|diff|patch)$/.test(lang)) return;
    let kind = '//';
    for (const k in comments) if (comments[k].test(lang)) kind = k;
    const comment = { '#': '(?:^|(?<=\\s))#[^\\n]*', '--': '--[^\\n]*', '<': '<!--[^]*?(?:-->|$)', '': '(?!)', '//': '//[^\\n]*|/\\*[^]*?(?:\\*/|$)' }[kind];
    const token = new RegExp(`(?<com>${comment})|(?<str>"(?:[^"\\\\\\n]|\\\\.)*"|'(?:[^'\\\\\\n]|\\\\.)*'|\`(?:[^\`\\\\]|\\\\.)*\`)|(?<num>\\b\\d[\\w.]*)|(?<kw>[A-Za-z_]\\w*)`, 'g');
    const parts = [];
    let length = 0;
    for (const w = document.createTreeWalker(code, NodeFilter.SHOW_TEXT); w.nextNode();) {
      parts.push([length, w.currentNode]);
      length += w.currentNode.data.length;
    }
    const span = spans(parts);
    for (const m of s.matchAll(token)) {
      const name = Object.keys(m.groups).find((g) => m.groups[g] !== undefined);
      if (name === 'kw' && !words.has(m[0])) continue;
      if (!styles[name]) CSS.highlights.set(name, styles[name] = new Highlight());
      styles[name].add(span(m.index, m.index + m[0].length));
    }
  }
  const eye = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting || target.dataset.seen) continue;
      eye.unobserve(target);
      target.dataset.seen = '1';
      const code = $('code[data-lang]', target);
      if (code) color(code);
      const box = make('div', 'code');
      target.replaceWith(box);
      const copy = make('button', 'copy', 'Copy');
      copy.type = 'button';
      copy.onclick = async () => {
        try {
          await navigator.clipboard.writeText(target.textContent);
        } catch {
          getSelection().selectAllChildren(target);
          document.execCommand('copy');
        }
        copy.textContent = 'Copied';
        setTimeout(() => { copy.textContent = 'Copy'; }, 1500);
      };
      box.append(target, copy);
    }
  }, { rootMargin: '200px' });
  function watch() {
    for (const pre of document.querySelectorAll('main pre:not([data-seen])')) eye.observe(pre);
  }

  // Pictures.
  const zoom = $('#zoom');
  function enlarge(img) {
    const copy = img.cloneNode();
    copy.removeAttribute('loading');
    copy.onclick = () => zoom.close();
    const old = $('img', zoom);
    if (old) old.remove();
    zoom.append(copy);
    zoom.showModal();
  }
  log.addEventListener('click', (ev) => { if (ev.target.matches('img')) enlarge(ev.target); });
  log.addEventListener('keydown', (ev) => {
    if ((ev.key === 'Enter' || ev.key === ' ') && ev.target.matches('img')) { ev.preventDefault(); enlarge(ev.target); }
  });
  for (const root of [document, rest]) {
    for (const img of root.querySelectorAll('img')) { img.tabIndex = 0; img.setAttribute('role', 'button'); }
  }

  // Keys and buttons.
  const toggleTree = (open = doc.classList.contains('no-tree')) => {
    doc.classList.toggle('no-tree', !open);
    $('#menu').setAttribute('aria-expanded', open);
    if (open) { draw(); if (place.has(current)) move(place.get(current)); tree.focus(); }
  };
  $('#menu').onclick = () => toggleTree();
  $('#menu').setAttribute('aria-expanded', !narrow.matches);
  if (narrow.matches) doc.classList.add('no-tree');
  $('#talk').addEventListener('click', () => { if (narrow.matches) doc.classList.add('no-tree'); });
  $('#help').onclick = () => $('#keys').showModal();
  $('#theme').onclick = () => {
    const dark = getComputedStyle(doc).colorScheme === 'dark' || (doc.dataset.theme === undefined && matchMedia('(prefers-color-scheme: dark)').matches);
    doc.dataset.theme = dark ? 'light' : 'dark';
    try { localStorage.setItem('burin-theme', doc.dataset.theme); } catch { /* not kept */ }
  };
  document.addEventListener('keydown', (ev) => {
    if (ev.ctrlKey || ev.metaKey || ev.altKey || ev.target.matches('input, select, textarea') || $('dialog[open]')) return;
    const keys = {
      '/': () => { input.focus(); input.select(); },
      n: () => find(1), N: () => find(-1), j: () => jump(1), k: () => jump(-1),
      t: () => (document.activeElement === tree || doc.classList.contains('no-tree') ? toggleTree() : tree.focus()),
      e: () => {
        const cards = [...log.querySelectorAll('.card')], open = cards.some((c) => !c.open);
        for (const c of cards) c.open = open;
      },
      '?': () => $('#keys').showModal(),
      Escape: () => { if (narrow.matches) doc.classList.add('no-tree'); },
    };
    if (!keys[ev.key]) return;
    ev.preventDefault();
    keys[ev.key]();
  });
  addEventListener('hashchange', aim);
  function aim() {
    const m = /^#e(\d{1,9})$/.exec(location.hash);
    if (m && Number(m[1]) < nodes.length) go(Number(m[1]), false);
  }

  forks();
  watch();
  draw();
  here(path.length ? path[0] : -1);
  aim();
})();
