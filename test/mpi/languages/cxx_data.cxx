/* Persistent collectives from C++: its own types, and an operator that is a function of C++. */

#include "glue.h"
#include <complex>
#include <mpi.h>
#include <vector>

namespace
{

using Complex = std::complex<double>;

constexpr int starts = 12;
constexpr int n = 1000;

void larger_norm(void *in, void *inout, int *length, MPI_Datatype *)
{
    const Complex *a = static_cast<const Complex *>(in);
    Complex *b = static_cast<Complex *>(inout);

    for (int i = 0; i < *length; i++)
        if (std::norm(a[i]) > std::norm(b[i]))
            b[i] = a[i];
}

void run(MPI_Request &request)
{
    frame_delay();
    MPI_Start(&request);
    frame_delay();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void broadcast(int me, int ranks)
{
    std::vector<double> data(n);
    MPI_Request request;

    frame_want();
    MPI_Bcast_init(data.data(), n, MPI_DOUBLE, ranks - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    frame_got("Bcast_init");
    for (int step = 1; step <= starts; step++) {
        for (int i = 0; i < n; i++)
            data[i] = me == ranks - 1 ? step + i : -1;
        run(request);
        for (int i = 0; i < n; i++)
            if (data[i] != step + i)
                frame_fail("bcast", step);
    }
    MPI_Request_free(&request);
}

void sum_of_complex(int me, int ranks)
{
    std::vector<Complex> send(n), receive(n);
    const double below = ranks * (ranks - 1) / 2;
    MPI_Request request;

    frame_want();
    MPI_Allreduce_init(send.data(), receive.data(), n, MPI_CXX_DOUBLE_COMPLEX, MPI_SUM,
                       MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    frame_got("Allreduce_init of MPI_CXX_DOUBLE_COMPLEX");
    for (int step = 1; step <= starts; step++) {
        for (int i = 0; i < n; i++)
            send[i] = Complex(step + me, i * me);
        run(request);
        for (int i = 0; i < n; i++)
            if (receive[i] != Complex(step * ranks + below, i * below))
                frame_fail("complex", step);
    }
    MPI_Request_free(&request);
}

void or_of_bool(int me, int ranks)
{
    bool send[64], receive[64];
    MPI_Request request;

    frame_want();
    MPI_Allreduce_init(send, receive, 64, MPI_CXX_BOOL, MPI_LOR, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &request);
    frame_got("Allreduce_init of MPI_CXX_BOOL");
    for (int step = 1; step <= starts; step++) {
        for (int i = 0; i < 64; i++)
            send[i] = (i + step) % (ranks + 1) == me;
        run(request);
        for (int i = 0; i < 64; i++)
            if (receive[i] != ((i + step) % (ranks + 1) < ranks))
                frame_fail("bool", step);
    }
    MPI_Request_free(&request);
}

void own_operator(int me, int ranks)
{
    std::vector<Complex> data(n);
    MPI_Request request;
    MPI_Op op;

    MPI_Op_create(larger_norm, 1, &op);
    frame_want();
    MPI_Allreduce_init(MPI_IN_PLACE, data.data(), n, MPI_CXX_DOUBLE_COMPLEX, op, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &request);
    frame_got("Allreduce_init with an operator of C++");
    MPI_Op_free(&op);
    for (int step = 1; step <= starts; step++) {
        for (int i = 0; i < n; i++)
            data[i] = Complex(0, -step - (i + me) % ranks);
        run(request);
        for (int i = 0; i < n; i++)
            if (data[i] != Complex(0, -step - ranks + 1))
                frame_fail("own operator", step);
    }
    MPI_Request_free(&request);
}

} // namespace

int main(int argc, char **argv)
{
    int me, ranks;

    frame_begin();
    MPI_Init(&argc, &argv);
    frame_attach();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    broadcast(me, ranks);
    sum_of_complex(me, ranks);
    or_of_bool(me, ranks);
    own_operator(me, ranks);
    frame_sum();
    MPI_Finalize();
    return frame_end();
}
