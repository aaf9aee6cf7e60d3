import { clsx, type ClassValue } from 'clsx'
import { createTailwindMerge } from 'tailwind-merge'

/** The type scale is ours: without a list its names could be colours. */
export const fontSizes = [
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
] as const

const any = () => true

// Only what meets in this app (cn.test.ts): the library's own list of everything weighs as much as a page.
const merge = createTailwindMerge(() => ({
  cacheSize: 500,
  theme: {},
  classGroups: {
    display: ['block', 'inline-block', 'flex', 'inline-flex', 'grid', 'hidden', 'contents'],
    position: ['static', 'relative', 'absolute', 'fixed', 'sticky'],
    z: [{ z: [any] }],
    justify: [{ justify: [any] }],
    shrink: [{ shrink: ['', any] }],
    size: [{ size: [any] }],
    h: [{ h: [any] }],
    w: [{ w: [any] }],
    'min-h': [{ 'min-h': [any] }],
    'min-w': [{ 'min-w': [any] }],
    'max-w': [{ 'max-w': [any] }],
    p: [{ p: [any] }],
    px: [{ px: [any] }],
    pt: [{ pt: [any] }],
    mt: [{ mt: [any] }],
    rounded: [{ rounded: ['mark', 'badge', 'control', 'card'] }],
    whitespace: [{ whitespace: [any] }],
    font: [{ font: ['medium', 'semibold'] }],
    'font-size': [{ text: [...fontSizes] }],
    'text-align': [{ text: ['left', 'center', 'right'] }],
    'text-color': [{ text: [any] }],
    bg: [{ bg: [any] }],
  },
  conflictingClassGroups: { size: ['h', 'w'] },
  conflictingClassGroupModifiers: {},
  orderSensitiveModifiers: [],
}))

/** Joins class names; of two that set the same thing, the later one holds. */
export function cn(...classes: ClassValue[]): string {
  return merge(clsx(classes))
}
