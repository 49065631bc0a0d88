import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

/** The conversation of this page; it stays when the page is loaded again. */
const id = new URLSearchParams(location.search).get("id") ?? crypto.randomUUID();
history.replaceState(null, "", `?id=${id}`);

async function load(): Promise<UIMessage[]> {
  const response = await fetch(`/api/chat/${id}`);
  if (!response.ok) return [];
  const { messages } = (await response.json()) as { messages: UIMessage[] };
  return messages;
}

/** Also if the user has written on while a call waits. */
const answersAllQuestions = ({ messages }: { readonly messages: UIMessage[] }): boolean =>
  lastAssistantMessageIsCompleteWithApprovalResponses({
    messages: messages.slice(0, messages.findLastIndex(({ role }) => role === "assistant") + 1),
  });

/** The questions that wait for an answer. */
const askedIn = (messages: readonly UIMessage[]): readonly string[] =>
  messages
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === "dynamic-tool" && part.state === "approval-requested" ? part.approval.id : []));

function Chat({ messages: first }: { readonly messages: UIMessage[] }) {
  const [provider, setProvider] = useState("responses");
  const [text, setText] = useState("");
  const [files, setFiles] = useState<FileList>();
  const [stopped, setStopped] = useState("");
  const { messages, sendMessage, setMessages, resumeStream, regenerate, status, error, addToolApprovalResponse } =
    useChat({
      id,
      messages: first,
      resume: first.length > 0,
      sendAutomaticallyWhen: answersAllQuestions,
      transport: new DefaultChatTransport({
        headers: () => ({ "x-provider": localStorage.getItem("provider") ?? "" }),
      }),
      onError(reason) {
        // The server is away: go on once it is back.
        if (reason instanceof TypeError) setTimeout(() => void goOn(), 1_000);
      },
      onData({ type, data }) {
        if (type === "data-turn-changed") void load().then(setMessages);
        if (type === "data-stopped") setStopped((data as { text: string }).text);
        if (type === "data-next-answer") setTimeout(() => void resumeStream());
      },
    });
  useEffect(() => localStorage.setItem("provider", provider), [provider]);

  // Nothing arrives while a call waits: somebody may decide about it elsewhere.
  const asked = status === "ready" ? askedIn(messages).join(" ") : "";
  useEffect(() => {
    if (asked === "") return undefined;
    const page = { isLeft: false };
    const look = async (): Promise<void> => {
      const loaded = await load().catch(() => null);
      if (page.isLeft || loaded === null || asked.split(" ").every((each) => askedIn(loaded).includes(each))) return;
      setMessages(loaded);
      await resumeStream();
    };
    const timer = setInterval(() => void look(), 5_000);
    return () => {
      page.isLeft = true;
      clearInterval(timer);
    };
  }, [asked, setMessages, resumeStream]);

  async function goOn(): Promise<void> {
    try {
      setMessages(await load());
      await resumeStream();
    } catch {
      setTimeout(() => void goOn(), 1_000);
    }
  }

  const send = (event: { preventDefault(): void }): void => {
    event.preventDefault();
    setStopped("");
    void sendMessage({ text, ...(files === undefined ? {} : { files }) });
    setText("");
    setFiles(undefined);
  };
  const answer: Answering = (approval, approved) => void addToolApprovalResponse({ id: approval, approved });

  return (
    <>
      {messages.map((message) => (
        <section key={message.id} className={message.role}>
          {message.parts.map((part, index) => (
            // The parts of a message never move.
            <PartOf key={index} part={part} answer={answer} />
          ))}
        </section>
      ))}
      {stopped && <p className="stopped">{stopped} (stopped; the model does not know this)</p>}
      <p role="status">{status}</p>
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.currentTarget.value)} />
        <input
          aria-label="Image"
          type="file"
          accept="image/*"
          onChange={(event) => setFiles(event.currentTarget.files ?? undefined)}
        />
        <select aria-label="Provider" value={provider} onChange={(event) => setProvider(event.currentTarget.value)}>
          <option value="responses">Responses API</option>
          <option value="completions">Chat Completions</option>
        </select>
        <button type="submit">Send</button>
        <button type="button" onClick={() => void fetch(`/api/chat/${id}/stop`, { method: "POST" })}>
          Stop
        </button>
        <button type="button" onClick={() => void regenerate()}>
          Again
        </button>
      </form>
    </>
  );
}

type Answering = (approval: string, isApproved: boolean) => void;

function PartOf({ part, answer }: { readonly part: UIMessage["parts"][number]; readonly answer: Answering }) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type === "reasoning") return <em>{part.text}</em>;
  if (part.type === "file") return <img src={part.url} alt={part.filename ?? "An image"} width="120" />;
  if (part.type !== "dynamic-tool") return null;
  return (
    <div className="tool">
      <code>
        {part.toolName} {JSON.stringify(part.input)} {part.state}
      </code>
      {part.state === "approval-requested" && (
        <>
          <p>{part.approval.requestReason}</p>
          <button type="button" onClick={() => answer(part.approval.id, true)}>
            Yes
          </button>
          <button type="button" onClick={() => answer(part.approval.id, false)}>
            No
          </button>
        </>
      )}
      {part.state === "output-available" && <output>{JSON.stringify(part.output)}</output>}
      {part.state === "output-error" && <output>{part.errorText}</output>}
    </div>
  );
}

const root = document.querySelector("#page");
if (root !== null) createRoot(root).render(<Chat messages={await load()} />);
