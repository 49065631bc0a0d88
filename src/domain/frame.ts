/**
 * The frame of a model call that a layer makes aside from the conversation (`ctx.infer`): `0.1.a0` is the first one of frame `0.1`. Its
 * question and answer are in no Turn, and in no server context of the conversation.
 */
export const asideFrame = (frame: string, number: number): string => `${frame}.a${number}`;

/** Whether a frame is aside from the conversation. */
export const isAside = (frame: string | null | undefined): boolean => frame?.includes("a") === true;

/** The frame that called this frame, or made it as an aside. */
export const parentFrame = (frame: string): string => frame.slice(0, frame.lastIndexOf("."));
