/** Dictation by the browser's own recognition of speech, where there is one. */

interface Recognition {
  continuous: boolean;
  interimResults: boolean;
  lang: string;
  onresult: ((e: { results: ArrayLike<ArrayLike<{ transcript: string }>> }) => void) | null;
  onend: (() => void) | null;
  start(): void;
  stop(): void;
}
type Made = new () => Recognition;
const made = (): Made | undefined => {
  const w = window as unknown as { SpeechRecognition?: Made; webkitSpeechRecognition?: Made };
  return w.SpeechRecognition ?? w.webkitSpeechRecognition;
};

export class Dictation {
  static get there(): boolean {
    return made() !== undefined && isSecureContext;
  }
  private readonly ears: Recognition;

  /** heard gets all that was said so far, each time. */
  constructor(heard: (text: string) => void, ended: () => void) {
    this.ears = new (made()!)();
    this.ears.continuous = this.ears.interimResults = true;
    this.ears.lang = navigator.language;
    this.ears.onresult = (e) => heard(Array.from(e.results, (r) => r[0]?.transcript ?? "").join(" ").replace(/\s+/g, " ").trim());
    this.ears.onend = ended;
    this.ears.start();
  }

  stop() {
    this.ears.stop();
  }
}
