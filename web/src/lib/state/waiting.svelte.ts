/** What waits in a session: messages for the model, and questions for people. */

import type { Client } from "../api/client";
import type { Question, Queued } from "../api/schema";

export class Waiting {
  queued = $state.raw<Queued>({});
  questions = $state.raw<Question[]>([]);
  private told = new Set<string>(); // ids of questions, and "queue": what events are about since the lists were asked for
  private asked = 0;

  /** read asks for both lists. What events say meanwhile is newer than these. */
  async read(client: Client, id: string, fresh = false) {
    const turn = ++this.asked;
    this.told.clear();
    const [queued, questions] = await Promise.all([
      client.call("POST /v1/sessions/{id}/queue", { id, fresh }),
      client.call("POST /v1/sessions/{id}/questions", { id, fresh }),
    ]);
    if (turn !== this.asked) return;
    if (!this.told.has("queue")) this.queued = queued;
    this.questions = [...(questions ?? []).filter((q) => !this.told.has(q.id)), ...this.questions.filter((q) => this.told.has(q.id))];
  }

  hear(e: Record<string, unknown> & { type: string }) {
    switch (e.type) {
      case "queue_changed":
        this.queued = e as Queued;
        this.told.add("queue");
        break;
      case "question_asked":
        this.settle((e["question"] as Question).id);
        this.questions = [...this.questions, e["question"] as Question];
        break;
      case "question_settled":
        this.settle(e["id"] as string);
        break;
    }
  }

  /** settle takes a question away. */
  settle(id: string) {
    this.told.add(id);
    this.questions = this.questions.filter((q) => q.id !== id);
  }
}
