import { Observable } from "rxjs";
import { isHole, type RecordedEvent } from "../domain/events/recorded.ts";
import type { ReadableConversation } from "./readable-conversation.ts";

/**
 * Every event of a conversation from now on, from any writer, once it is durable. A separate function, so that only programs that use it
 * load rxjs.
 *
 *     changes$(conversation).subscribe(({ event }) => console.log(event.type));
 */
export const changes$ = (conversation: Pick<ReadableConversation, "follow">): Observable<RecordedEvent> =>
  new Observable((subscriber) => {
    const left = new AbortController();
    const tell = async (): Promise<void> => {
      for await (const recorded of conversation.follow(undefined, left.signal))
        if (!isHole(recorded)) subscriber.next(recorded);
      subscriber.complete();
    };
    tell().catch((error: unknown) => subscriber.error(error));
    return () => left.abort();
  });
