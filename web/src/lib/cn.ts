import { clsx, type ClassValue } from 'clsx'
import { extendTailwindMerge } from 'tailwind-merge'

// The type scale is ours, so the merger must be told that these are sizes and not colours.
const merge = extendTailwindMerge({
  extend: {
    classGroups: {
      'font-size': [
        {
          text: [
            'caption',
            'compact',
            'body',
            'field',
            'lead',
            'section',
            'title-phone',
            'title',
            'figure',
            'figure-mid',
            'hero',
            'display-phone',
            'display-beside',
            'display',
          ],
        },
      ],
      shadow: [{ shadow: ['popover', 'dialog', 'none'] }],
      rounded: [{ rounded: ['mark', 'badge', 'control', 'card'] }],
    },
  },
})

/** Joins class names; of two that set the same thing, the later one holds. */
export function cn(...classes: ClassValue[]): string {
  return merge(clsx(classes))
}
