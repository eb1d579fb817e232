/** End knows where a box was when its end was brought into sight, to tell who has scrolled since from what has moved by itself. */
export class End {
  height = 0; // of all, as it was last seen
  put = 0; // where it was scrolled to then
  private client = 0; // and how much of it was in sight

  see(box: Box) {
    this.height = box.scrollHeight;
    this.put = box.scrollTop;
    this.client = box.clientHeight;
  }

  /** stays reports whether nobody has scrolled up since then: the box has grown or shrunk, or what stands below it has, which moves it. */
  stays(box: Box): boolean {
    return box.scrollHeight < this.height || box.scrollTop >= this.put - 1 - Math.max(0, box.clientHeight - this.client);
  }
}

type Box = Pick<HTMLElement, "scrollHeight" | "scrollTop" | "clientHeight">;
