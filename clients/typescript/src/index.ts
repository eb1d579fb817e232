export * from "./events.js";
export * from "./messages.js";
export type { Method, Methods } from "./methods.js";
export { type Outcome, type SendOptions, Session } from "./session.js";
export { BurinError, type ConnectOptions, type Rights, type StartOptions } from "./transport.js";
