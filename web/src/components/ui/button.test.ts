import type { ComponentProps } from 'react'
import { expectTypeOf, it } from 'vitest'
import type { Button } from './button'

type Props = ComponentProps<typeof Button>
type NameOf<P> = P extends unknown ? keyof P : never

it('takes no press and no work for a child that has its own', () => {
  expectTypeOf<{ asChild: true }>().toExtend<Props>()
  expectTypeOf<{ asChild: true; onClick: () => void }>().not.toExtend<Props>()
  expectTypeOf<{ asChild: true; busy: string }>().not.toExtend<Props>()
  expectTypeOf<{ onClick: () => void; busy: string }>().toExtend<Props>()
})

it('is never disabled in the way that takes the focus', () => {
  expectTypeOf<'aria-disabled'>().toExtend<NameOf<Props>>()
  expectTypeOf<'disabled'>().not.toExtend<NameOf<Props>>()
})
