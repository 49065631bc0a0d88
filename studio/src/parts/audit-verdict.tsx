import type { AuditDocument, AuditResult } from "../../../src/apps/studio/audit-documents.ts";
import { printable } from "../../../src/base/printable.ts";
import { age, counted, duration, grouped } from "../format.ts";
import { conversationPath, follow, hrefOf } from "../route.ts";
import { CheckIcon, ClockIcon, WarnIcon } from "./icons.tsx";
import { WithCode } from "./with-code.tsx";

/** What was found, how long ago, and what it does not cover. */
export function Verdict({ audit }: { readonly audit: AuditDocument }) {
  const { isPossible, running, last, problem, events } = audit;
  if (!isPossible)
    return (
      <Banner
        title="This cannot be verified: its texts are redacted"
        text="`turnlog verify --bundle` checks the redacted bundle."
      />
    );
  if (running !== null) return <Progress {...running} />;
  if (problem !== null)
    return (
      <Banner
        tone="bad"
        title="The verification could not be finished"
        text={`${problem}. That says nothing about the events.`}
      />
    );
  if (last === null)
    return (
      <Banner
        title="Not verified by this studio"
        text="A verification reads every event, follows the hash chains, and builds every request again."
      />
    );
  const newer = events === null ? 0 : Math.max(0, events - last.total);
  return (
    <>
      <Result last={last} newer={newer} />
      <ul class="findings">
        <Finding
          isRight={!last.problems.some(({ kind }) => kind !== "request" && kind !== "codec" && kind !== "view")}
          words={`${grouped(last.events)} of ${counted(last.total, "event")}: schemas, hash chains and folds`}
        />
        <Finding
          isRight={!last.problems.some(({ kind }) => kind === "request" || kind === "codec")}
          words={`${counted(last.requests, "request")} built again, equal to what was sent, byte for byte`}
        />
        <Finding
          isRight={!last.problems.some(({ kind }) => kind === "view")}
          words="the rows of projections follow from the events"
        />
      </ul>
    </>
  );
}

function Result({ last, newer }: { readonly last: AuditResult; readonly newer: number }) {
  const when = `Verified ${age(last.at)} ago, in ${duration(last.ms)}.`;
  const since =
    newer === 0 ? "" : ` ${counted(newer, "event")} came since and ${newer === 1 ? "is" : "are"} not verified.`;
  const skipped =
    last.skipped.length === 0 ? "" : ` ${counted(last.skipped.length, "damaged event")} skipped by an operator.`;
  if (last.isSound)
    return (
      <Banner
        tone={newer === 0 ? "good" : "none"}
        title={`All ${counted(last.streams, "stream")} ${last.streams === 1 ? "is" : "are"} sound${newer === 0 ? "" : `, up to ${counted(last.total, "event")}`}`}
        text={`${when}${since}${skipped}`}
      />
    );
  const unchecked = last.problems.filter(({ kind }) => kind === "codec").length;
  const damaged = last.problems.length - unchecked;
  return (
    <Banner
      tone={damaged > 0 ? "bad" : "warn"}
      title={
        damaged > 0
          ? `${counted(damaged, "stream")} of ${grouped(last.streams)} damaged`
          : `Requests of ${counted(unchecked, "stream")} not checked`
      }
      text={`${when}${since}${skipped} Nothing after a damaged event of a stream is sound.`}
    />
  );
}

function Progress({ events, total }: { readonly events: number; readonly total: number }) {
  const share = total === 0 ? 0 : Math.min(100, Math.floor((events / total) * 100));
  return (
    <section class="banner" aria-label="Verification">
      <ClockIcon />
      <div>
        <h2>Verifying: {share} %</h2>
        <p>
          {grouped(events)} of {counted(total, "event")} read.
        </p>
      </div>
      <progress class="progress" max={100} value={share} aria-label="Progress of the verification" />
    </section>
  );
}

function Banner({
  title,
  text,
  tone = "none",
}: {
  readonly title: string;
  readonly text: string;
  readonly tone?: "none" | "good" | "warn" | "bad";
}) {
  return (
    <section class={`banner ${tone === "bad" || tone === "warn" ? tone : ""}`} aria-label="Verdict" role="status">
      {tone === "good" ? <CheckIcon class="good" /> : tone === "none" ? <ClockIcon /> : <WarnIcon class={tone} />}
      <div>
        <h2>{title}</h2>
        <p>
          <WithCode text={text} />
        </p>
      </div>
    </section>
  );
}

const Finding = ({ isRight, words }: { readonly isRight: boolean; readonly words: string }) => (
  <li>
    {isRight ? <CheckIcon class="good" label="right" /> : <WarnIcon class="bad" label="wrong" />}
    <span>{words}</span>
  </li>
);

/** The first problem of each damaged stream. */
export function Problems({ audit: { last } }: { readonly audit: AuditDocument }) {
  if (last === null || last.problems.length === 0) return null;
  return (
    <table class="table">
      <caption>Problems</caption>
      <thead>
        <tr>
          <th>Place</th>
          <th>Kind</th>
          <th>What is wrong, and what to do</th>
        </tr>
      </thead>
      <tbody>
        {last.problems.map(({ stream, conversation, revision, kind, message, next }) => (
          <tr key={stream}>
            <td>
              <Place stream={stream} conversation={conversation} revision={revision} />
            </td>
            <td class="bad">{kind}</td>
            <td class="long">
              {printable(message)}
              <span class="text-3">
                {" "}
                <WithCode text={next} />
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Damaged events that an operator skipped. */
export function Skipped({ audit: { last } }: { readonly audit: AuditDocument }) {
  if (last === null || last.skipped.length === 0) return null;
  return (
    <table class="table">
      <caption>
        Skipped <span>damaged events that an operator left out, and that are unchanged since</span>
      </caption>
      <thead>
        <tr>
          <th>Place</th>
          <th>Reason</th>
          <th>Problem</th>
        </tr>
      </thead>
      <tbody>
        {last.skipped.map(({ stream, conversation, revision, reason, problem }) => (
          <tr key={`${stream}@${revision}`}>
            <td>
              <Place stream={stream} conversation={conversation} revision={revision} />
            </td>
            <td>{printable(reason)}</td>
            <td class="long text-2">{printable(problem)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** An event, with a link where a page shows it. */
export function Place({
  stream,
  conversation,
  revision,
}: {
  readonly stream: string;
  readonly conversation: string | null;
  readonly revision: number;
}) {
  if (conversation === null) return <span class="code">{`${stream}@${revision}`}</span>;
  const to = conversationPath(conversation, revision);
  return <a class="mono" href={hrefOf(to)} onClick={(event) => follow(event, to)}>{`${conversation}@${revision}`}</a>;
}
