import { Wordmark } from '@/components/wordmark'

/** A member's header before it is known who the member is. */
export function WaitingHeader() {
  return (
    <header data-print="no" className="sticky top-0 z-30 border-b bg-card">
      <div className="page-gutter mx-auto flex h-14 max-w-[1168px] items-center max-md:justify-center md:h-16">
        <Wordmark />
      </div>
    </header>
  )
}
