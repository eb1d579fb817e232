/** The words of the dialog about notifications, which are loaded with it. */
import { texts } from ".";

export const notificationsEn = {
  title: "Notifications",
  about: "This browser tells you when an answer is ready or a question waits, while you don't look at it. Push services read nothing of it.",
  here: "Notify me in this browser",
  titles: "Show the title of the chat or session",
  sessions: "Also of coding sessions on this machine",
  test: "Send a test",
  sent: "Sent. It arrives in a moment.",
  others: "Other browsers",
  remove: "Remove",
  refused: "The browser doesn't allow notifications for this page. Allow them in its settings, and try again.",
  unable: "This browser has no notifications for this page: they need https or localhost. On an iPhone, add burin to the home screen first.",
} as const;

/** n gives a text of this part. */
export const n = texts<keyof typeof notificationsEn>("notifications", notificationsEn);
