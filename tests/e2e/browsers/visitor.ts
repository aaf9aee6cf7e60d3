/** A person at a browser; parts of a page are named by XPath, and each act waits until its part is there. */
export interface Visitor {
  open: (address: string) => Promise<void>
  see: (part: string) => Promise<void>
  press: (part: string) => Promise<void>
  type: (part: string, text: string) => Promise<void>
  /** Chooses a file of this machine. */
  attach: (part: string, file: string) => Promise<void>
  close: () => Promise<void>
}

/** How long a part may take to appear. */
export const patience = 30_000

export const field = (label: string) => `//*[@id=//label[starts-with(normalize-space(), "${label}")]/@for]`
export const button = (name: string) => `//button[normalize-space()="${name}"]`
export const text = (words: string) => `//body//*[text()[contains(., "${words}")]]`
