/**
 * Heights knows how high the rows of a long list are, or guesses it, and where each of them
 * stands. A row keeps its height when others are added at the end.
 */
export class Heights {
  private high: number[] = [];
  private tops: number[] = [0]; // of each row, and at the end of all
  private known: boolean[] = [];
  private dirty = 0; // the tops up to this row are right
  private sums = new Map<string, { sum: number; n: number }>();

  get length(): number {
    return this.high.length;
  }

  /** resize makes it n rows long; kind says which rows resemble each other. */
  resize(n: number, kind: (i: number) => string) {
    for (let i = this.high.length; i < n; i++) {
      this.high.push(this.guess(kind(i)));
      this.known.push(false);
    }
    this.high.length = this.known.length = n;
    this.tops.length = Math.min(this.tops.length, n + 1);
    this.dirty = Math.min(this.dirty, n);
  }

  /** forget guesses the rows from a number on again, as when others stand there now. */
  forget(from: number, kind: (i: number) => string) {
    for (let i = from; i < this.high.length; i++) {
      this.high[i] = this.guess(kind(i));
      this.known[i] = false;
    }
    this.dirty = Math.min(this.dirty, from);
  }

  private guess(kind: string): number {
    const s = this.sums.get(kind);
    return s ? s.sum / s.n : kind === "answer" ? 240 : kind === "prompt" ? 100 : 50;
  }

  /** set says how high a row is, and reports whether that is new. */
  set(i: number, height: number, kind: string): boolean {
    if (i >= this.high.length) return false;
    if (!this.known[i]) {
      const s = this.sums.get(kind) ?? { sum: 0, n: 0 };
      this.sums.set(kind, { sum: s.sum + height, n: s.n + 1 });
    }
    this.known[i] = true;
    if (this.high[i] === height) return false;
    this.high[i] = height;
    this.dirty = Math.min(this.dirty, i);
    return true;
  }

  get(i: number): number {
    return this.high[i] ?? 0;
  }

  /** top is where a row begins; of the number after the last one, where all end. */
  top(i: number): number {
    i = Math.max(0, Math.min(i, this.high.length));
    for (let k = this.dirty; k < i; k++) this.tops[k + 1] = this.tops[k]! + this.high[k]!;
    if (i > this.dirty) this.dirty = i;
    return this.tops[i]!;
  }

  get total(): number {
    return this.top(this.high.length);
  }

  /** at is the row at a place. */
  at(y: number): number {
    let low = 0;
    let high = Math.max(0, this.high.length - 1);
    this.top(this.high.length);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle]! <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
