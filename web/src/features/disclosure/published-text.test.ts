import { describe, expect, it } from 'vitest'
import { chaptersOf } from './published-text'

describe('chaptersOf', () => {
  it('finds headings and paragraphs', () => {
    expect(chaptersOf('Before.\n\n# One\nFirst.\n\nSecond.\n\n## Two')).toEqual([
      { id: 'chapter-0', title: null, paragraphs: ['Before.'] },
      { id: 'chapter-1', title: 'One', paragraphs: ['First.', 'Second.'] },
      { id: 'chapter-2', title: 'Two', paragraphs: [] },
    ])
  })

  it('keeps plain text as one chapter', () => {
    expect(chaptersOf('Only this.')).toEqual([{ id: 'chapter-0', title: null, paragraphs: ['Only this.'] }])
    expect(chaptersOf('')).toEqual([])
  })
})
