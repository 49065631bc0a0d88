/**
 * The frame of a model call that a layer makes beside the conversation (`ctx.infer`): `0.1.a0` is the first of frame `0.1`. What
 * was asked and answered there is in no Turn, and no server context of the conversation.
 */
export const asideFrame = (frame: string, number: number): string => `${frame}.a${number}`;

/** Whether what happened at a frame happened beside the conversation. */
export const isAside = (frame: string | null | undefined): boolean => frame?.includes("a") === true;

/** The frame that called a frame, or asked beside it. */
export const parentFrame = (frame: string): string => frame.slice(0, frame.lastIndexOf("."));
