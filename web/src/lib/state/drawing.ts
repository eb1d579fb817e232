const EACH = 33; // milliseconds between two drawings: nobody reads faster, and each costs the layout of a paragraph

/**
 * Drawing draws what grows with many small pieces: the first one at the next frame, and then all that
 * came within EACH at once. In a page that nobody sees there are no frames, so it draws with every piece.
 */
export class Drawing {
  private frame = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last = -Infinity;

  constructor(private readonly draw: () => void) {}

  /** ask has it drawn soon. */
  ask() {
    if (document.hidden) this.draw();
    if (document.hidden || this.frame || this.timer) return;
    const left = this.last + EACH - performance.now();
    if (left <= 0) this.next();
    else this.timer = setTimeout(() => this.next(), left);
  }

  private next() {
    this.timer = undefined;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.last = performance.now();
      this.draw();
    });
  }

  /** stop forgets what was asked for. */
  stop() {
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
    this.timer = undefined;
    this.frame = 0;
  }
}
