import { Wordmark } from '@/components/wordmark'
import { DemoBanner } from '@/features/operator/demo-banner'
import { Waiting } from './waiting'

/** The administrators' side before its code is here: the same frame, so that nothing jumps. */
export function AdminWaiting() {
  return (
    <div data-wide className="flex min-h-dvh flex-col">
      <DemoBanner />
      <header className="sticky top-0 z-30 flex h-14 items-center border-b bg-card px-4 md:hidden">
        <Wordmark />
      </header>
      <div className="flex min-w-0 grow">
        <div className="hidden w-16 shrink-0 border-r bg-sidebar p-3 md:block lg:w-62">
          <Wordmark className="hidden px-2.5 lg:block" />
        </div>
        <main className="mx-auto w-full max-w-[1648px] min-w-0 grow">
          <Waiting />
        </main>
      </div>
    </div>
  )
}
