// The errors of the runtime that the simulator can give, with the toolkit's numbers and texts.
//   SIMT_ERRORS(E) -> E(name, number, text) for each
#pragma once

#define SIMT_ERRORS(E)                                                                                       \
    E(cudaSuccess, 0, "no error")                                                                            \
    E(cudaErrorInvalidValue, 1, "invalid argument")                                                          \
    E(cudaErrorMemoryAllocation, 2, "out of memory")                                                         \
    E(cudaErrorInitializationError, 3, "initialization error")                                               \
    E(cudaErrorCudartUnloading, 4, "driver shutting down")                                                   \
    E(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                                    \
    E(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                                              \
    E(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                                   \
    E(cudaErrorInvalidHostPointer, 16, "invalid host pointer")                                               \
    E(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                                           \
    E(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                              \
    E(cudaErrorInvalidNormSetting, 27, "read as normalized float not supported for data type")               \
    E(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version")       \
    E(cudaErrorMissingConfiguration, 52, "__global__ function call is not configured")                       \
    E(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                                         \
    E(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                          \
    E(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                                 \
    E(cudaErrorDeviceUninitialized, 201, "invalid device context")                                           \
    E(cudaErrorUnmapBufferObjectFailed, 206, "unmapping of buffer object failed")                            \
    E(cudaErrorUnsupportedLimit, 215, "limit is not supported on this architecture")                         \
    E(cudaErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices")         \
    E(cudaErrorOperatingSystem, 304, "OS call failed or operation not supported on this OS")                 \
    E(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                                        \
    E(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state")                  \
    E(cudaErrorSymbolNotFound, 500, "named symbol not found")                                                \
    E(cudaErrorNotReady, 600, "device not ready")                                                            \
    E(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                              \
    E(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")                         \
    E(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                                \
    E(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                              \
    E(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled")                                \
    E(cudaErrorAssert, 710, "device-side assert triggered")                                                  \
    E(cudaErrorHostMemoryAlreadyRegistered, 712,                                                             \
      "part or all of the requested memory range is already mapped")                                         \
    E(cudaErrorHostMemoryNotRegistered, 713, "pointer does not correspond to a registered memory region")    \
    E(cudaErrorHardwareStackError, 714, "hardware stack error")                                              \
    E(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered")                            \
    E(cudaErrorMisalignedAddress, 716, "misaligned address")                                                 \
    E(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                             \
    E(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")                      \
    E(cudaErrorNotPermitted, 800, "operation not permitted")                                                 \
    E(cudaErrorNotSupported, 801, "operation not supported")                                                 \
    E(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")            \
    E(cudaErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture")     \
    E(cudaErrorStreamCaptureMerge, 902, "operation would result in a merge of separate capture sequences")   \
    E(cudaErrorStreamCaptureUnmatched, 903, "capture was not ended in the same stream as it began")          \
    E(cudaErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work")                             \
    E(cudaErrorStreamCaptureIsolation, 905, "dependency created on uncaptured work in another stream")       \
    E(cudaErrorStreamCaptureImplicit, 906,                                                                   \
      "operation would make the legacy stream depend on a capturing blocking stream")                        \
    E(cudaErrorCapturedEvent, 907,                                                                           \
      "operation not permitted on an event last recorded in a capturing stream")                             \
    E(cudaErrorStreamCaptureWrongThread, 908,                                                                \
      "attempt to terminate a thread-local capture sequence from another thread")                            \
    E(cudaErrorTimeout, 909, "wait operation timed out")                                                     \
    E(cudaErrorGraphExecUpdateFailure, 910,                                                                  \
      "the graph update was not performed because it included changes which violated constraints specific "  \
      "to instantiated graph update")                                                                        \
    E(cudaErrorExternalDevice, 911, "an async error has occured in external entity outside of CUDA")         \
    E(cudaErrorInvalidClusterSize, 912,                                                                      \
      "a kernel launch error has occurred due to cluster misconfiguration")                                  \
    E(cudaErrorFunctionNotLoaded, 913,                                                                       \
      "the function handle is not loaded when calling an API that requires a loaded function")               \
    E(cudaErrorInvalidResourceType, 914,                                                                     \
      "one or more resources passed in are not valid resource types for the operation")                      \
    E(cudaErrorInvalidResourceConfiguration, 915,                                                            \
      "one or more resources are insufficient or non-applicable for the operation")                          \
    E(cudaErrorUnknown, 999, "unknown error")

#define SIMT_ENUMERATOR(name, number, text) name = number,
enum cudaError { SIMT_ERRORS(SIMT_ENUMERATOR) };
#undef SIMT_ENUMERATOR
typedef cudaError cudaError_t;
