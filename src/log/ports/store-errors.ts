import { TurnlogError } from "../../base/turnlog-error.ts";

/** The store cannot be reached or used. The outcome of an append is unknown. */
export class StoreUnavailableError extends TurnlogError<"store-unavailable"> {
  override readonly name = "StoreUnavailableError";

  constructor(message: string, options?: ErrorOptions) {
    super("store-unavailable", message, options);
  }
}

/** This place holds no store, and the caller asked not to create one. */
export class StoreNotFoundError extends TurnlogError<"store-not-found"> {
  override readonly name = "StoreNotFoundError";

  constructor(message: string, options?: ErrorOptions) {
    super("store-not-found", message, options);
  }
}

/** This process has closed the store. */
export class StoreClosedError extends TurnlogError<"store-closed"> {
  override readonly name = "StoreClosedError";

  constructor(message: string, options?: ErrorOptions) {
    super("store-closed", message, options);
  }
}

/** The place where this store was opened now holds another store, or none. Nothing was written, and this store object cannot write. */
export class StoreReplacedError extends TurnlogError<"store-replaced"> {
  override readonly name = "StoreReplacedError";

  constructor(message: string, options?: ErrorOptions) {
    super("store-replaced", message, options);
  }
}

/** The store contradicts itself: damage, or two writers with one id. */
export class StoreCorruptedError extends TurnlogError<"store-corrupted"> {
  override readonly name = "StoreCorruptedError";

  constructor(message: string, options?: ErrorOptions) {
    super("store-corrupted", message, options);
  }
}

/** The store was written by a newer turnlog. */
export class StoreTooNewError extends TurnlogError<"store-too-new"> {
  override readonly name = "StoreTooNewError";

  constructor(message: string, options?: ErrorOptions) {
    super("store-too-new", message, options);
  }
}

/** An event or an append is over its limit; nothing was sent. */
export class EventTooLargeError extends TurnlogError<"event-too-large"> {
  override readonly name = "EventTooLargeError";

  constructor(message: string, options?: ErrorOptions) {
    super("event-too-large", message, options);
  }
}
