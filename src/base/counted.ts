/** `1,204` */
export const grouped = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

/** `1 block`, `1,204 blocks` */
export const counted = (count: number, noun: string): string => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
