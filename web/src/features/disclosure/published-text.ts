export interface Chapter {
  id: string
  /** Null for what stands before the first heading. */
  title: string | null
  paragraphs: string[]
}

/** Splits an operator's plain text: lines that start with "#" are headings, empty lines part paragraphs. */
export function chaptersOf(text: string): Chapter[] {
  const chapters: Chapter[] = [{ id: 'chapter-0', title: null, paragraphs: [] }]
  for (const block of text.replaceAll('\r\n', '\n').split(/\n{2,}/)) {
    const [first = '', ...rest] = block.trim().split('\n')
    const heading = /^#+\s+(.+)$/.exec(first)?.[1]
    if (heading) chapters.push({ id: `chapter-${chapters.length}`, title: heading, paragraphs: [] })
    const paragraph = (heading ? rest : [first, ...rest]).join('\n').trim()
    if (paragraph) chapters.at(-1)?.paragraphs.push(paragraph)
  }
  return chapters.filter((chapter) => chapter.title !== null || chapter.paragraphs.length > 0)
}
